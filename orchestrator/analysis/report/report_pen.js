/* How one panel of a report is drawn on its canvas: axes, marks, lines, cursor.
   `charts` is what all panels of a run share (report.js): run, view and cursor in seconds, where a drag began, how far a value reaches, and the look of a line. */
"use strict";
const reportPen = (() => {
  const PAD = { left: 58, right: 10, top: 26, bottom: 20 };
  const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

  /* Index of the last value at or before t; -1 before the first. */
  const lastAt = (times, t) => {
    let low = 0, high = times.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (times[middle] <= t) low = middle + 1; else high = middle;
    }
    return low - 1;
  };

  /* Index of the value nearest to t; -1 further than `reach` outside of the series, where a flow has none. */
  const nearest = (times, t, reach) => {
    const after = lastAt(times, t) + 1;
    if (after === 0) return times.length && times[0] - t <= reach ? 0 : -1;
    if (after === times.length) return t - times[after - 1] <= reach ? after - 1 : -1;
    return times[after] - t < t - times[after - 1] ? after : after - 1;
  };

  const ticks = (low, high, about) => {
    const raw = (high - low) / about, power = 10 ** Math.floor(Math.log10(raw));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw * 0.999);
    const found = [];
    for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) found.push(at * step);
    return found.map((value) => ({ value, text: value.toFixed(clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 6)) }));
  };

  const drawPanel = (charts, canvas, panel) => {
    const width = canvas.clientWidth, height = canvas.clientHeight, scale = devicePixelRatio || 1;
    if (!width || !height) return;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
    const pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "12px system-ui, sans-serif";
    const [begin, end] = charts.view, right = width - PAD.right, bottom = height - PAD.bottom;
    const seen = panel.series.filter((series) => !charts.isHidden(panel, series.label));
    const top = greatest(charts, seen) * 1.05 || 1;
    const box = {
      right, bottom,
      x: (t) => PAD.left + (t - begin) / (end - begin) * (right - PAD.left),
      y: (value) => bottom - value / top * (bottom - PAD.top),
    };
    drawAxes(charts, pen, panel, box, top);
    pen.save();
    pen.beginPath();
    pen.rect(PAD.left, PAD.top - 2, right - PAD.left, bottom - PAD.top + 3);
    pen.clip();
    for (const series of seen) drawLine(charts, pen, panel, series, box);
    pen.restore();
    drawCursor(charts, pen, panel, seen, box);
  };

  const greatest = (charts, seen) => {
    let most = 0;
    for (const { x_s, y } of seen) {
      for (let at = Math.max(0, lastAt(x_s, charts.view[0])); at < y.length && x_s[at] <= charts.view[1]; at++) most = Math.max(most, y[at]);
    }
    return most;
  };

  const drawAxes = (charts, pen, panel, box, top) => {
    const [begin, end] = charts.view, { x, y, right, bottom } = box;
    const warm = clamp(charts.run.window_s[0], begin, end);
    pen.fillStyle = charts.colour("--shade");
    pen.fillRect(PAD.left, PAD.top, x(warm) - PAD.left, bottom - PAD.top);
    const stroke = (x1, y1, x2, y2) => { pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); };
    pen.strokeStyle = charts.colour("--rule");
    pen.fillStyle = charts.colour("--faint");
    pen.lineWidth = 1;
    pen.textAlign = "right";
    pen.textBaseline = "middle";
    for (const { value, text } of ticks(0, top, 4)) {
      const at = Math.round(y(value)) + 0.5;
      stroke(PAD.left, at, right, at);
      pen.fillText(text, PAD.left - 6, at);
    }
    pen.textBaseline = "top";
    ticks(begin, end, Math.max(2, (right - PAD.left) / 110)).forEach(({ value, text }) => {
      const at = Math.round(x(value)) + 0.5;
      stroke(at, bottom, at, bottom + 4);
      pen.textAlign = at > right - 20 ? "right" : "center";
      pen.fillText(`${text} s`, at, bottom + 6);
    });
    pen.textAlign = "left";
    pen.setLineDash([2, 3]);
    pen.strokeStyle = charts.colour("--faint");
    let free = PAD.left; // where the text of the mark before ends
    for (const { t_s, text } of charts.run.marks.filter((mark) => mark.t_s >= begin && mark.t_s <= end)) {
      stroke(x(t_s), PAD.top, x(t_s), bottom);
      if (panel !== charts.run.panels[0] || x(t_s) < free) continue;
      pen.fillText(text, x(t_s) + 4, PAD.top + 3);
      free = x(t_s) + 8 + pen.measureText(text).width;
    }
    pen.setLineDash([]);
    pen.fillStyle = charts.colour("--ink");
    pen.fillText(`${panel.title}, ${panel.unit}`, 4, 4);
  };

  const drawLine = (charts, pen, panel, { label, x_s, y }, box) => {
    const { colour, dash } = charts.style(panel, label);
    pen.strokeStyle = charts.colour(colour);
    pen.setLineDash(dash);
    pen.lineWidth = 1.3;
    pen.lineJoin = "round";
    pen.beginPath();
    for (let at = Math.max(0, lastAt(x_s, charts.view[0])); at < x_s.length; at++) {
      pen.lineTo(box.x(x_s[at]), box.y(y[at]));
      if (x_s[at] > charts.view[1]) break; // one value past the edge, so that the line reaches it
    }
    pen.stroke();
    pen.setLineDash([]);
  };

  const drawCursor = (charts, pen, panel, seen, { x, y, bottom }) => {
    if (charts.cursor === null) return;
    const at = x(charts.cursor);
    if (charts.drag !== null) {
      pen.globalAlpha = 0.15;
      pen.fillStyle = charts.colour("--line-0");
      pen.fillRect(x(charts.drag), PAD.top, at - x(charts.drag), bottom - PAD.top);
      pen.globalAlpha = 1;
    }
    pen.strokeStyle = charts.colour("--faint");
    pen.lineWidth = 1;
    pen.beginPath();
    pen.moveTo(at, PAD.top);
    pen.lineTo(at, bottom);
    pen.stroke();
    for (const series of seen) {
      const index = nearest(series.x_s, charts.cursor, charts.reach);
      if (index < 0 || series.x_s[index] < charts.view[0] || series.x_s[index] > charts.view[1]) continue;
      pen.fillStyle = charts.colour(charts.style(panel, series.label).colour);
      pen.beginPath();
      pen.arc(x(series.x_s[index]), y(series.y[index]), 3, 0, 2 * Math.PI);
      pen.fill();
    }
  };

  return { PAD, clamp, nearest, drawPanel };
})();
