/* The charts of a report: every run's panels share one time axis, one cursor and one legend.
   Reads the page's JSON; each `div.charts` holds a canvas a panel, and is drawn when it first comes into sight. */
"use strict";
(() => {
  const COLOURS = 7;
  const DASHES = [[], [7, 3], [2, 3], [8, 3, 2, 3]];
  const MOST_ROWS = 16;
  const LEAST_DRAG_PX = 4;
  const LEAST_VIEW = 1e-4; // of the run: deeper than this lies less than a value
  const REACH = 0.01; // of the run: how far outside of its series a flow still has its first or last value
  const runs = JSON.parse(document.getElementById("data").textContent).runs;
  const { PAD, clamp, nearest, drawPanel } = reportPen;

  const element = (name, properties = {}, children = []) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  const shown = (value) => {
    if (value === undefined) return "";
    return value !== 0 && Math.abs(value) < 100 ? String(Number(value.toPrecision(4))) : String(Math.round(value));
  };

  class Charts {
    constructor(host, run) {
      this.run = run;
      this.canvases = [...host.querySelectorAll("canvas")];
      this.view = [0, run.duration_s];
      this.reach = REACH * run.duration_s;
      this.hidden = new Set();
      this.cursor = null; // seconds
      this.drag = null; // seconds at which the pointer went down
      this.labels = [...new Set(run.panels.filter((panel) => panel.title !== "Queue").flatMap((panel) => panel.series.map((series) => series.label)))];
      this.values = element("div", { className: "values", hidden: true });
      this.reset = element("button", { type: "button", textContent: "Show all of it", hidden: true });
      this.reset.addEventListener("click", () => this.show(0, run.duration_s));
      this.legend = element("div", { className: "legend" }, [...this.labels.map((label) => this.button(label)), this.reset]);
      host.prepend(this.legend);
      host.append(this.values);
      for (const canvas of this.canvases) this.listen(canvas);
      new ResizeObserver(() => this.draw()).observe(host);
    }

    style(panel, label) {
      const index = panel.title === "Queue" ? -1 : this.labels.indexOf(label);
      if (index < 0) return { colour: "--ink", dash: [] };
      return { colour: `--line-${index % COLOURS}`, dash: DASHES[Math.floor(index / COLOURS) % DASHES.length] };
    }

    isHidden(panel, label) { return panel.title !== "Queue" && this.hidden.has(label); }

    button(label) {
      const line = element("i");
      const { colour, dash } = this.style({}, label);
      line.style.borderColor = `var(${colour})`;
      line.style.borderTopStyle = dash.length ? "dashed" : "solid";
      const made = element("button", { type: "button" }, [line, label]);
      made.setAttribute("aria-pressed", "true");
      made.addEventListener("click", () => {
        if (!this.hidden.delete(label)) this.hidden.add(label);
        made.setAttribute("aria-pressed", String(!this.hidden.has(label)));
        this.draw();
      });
      return made;
    }

    listen(canvas) {
      canvas.addEventListener("pointermove", (event) => this.point(this.time(canvas, event), event.clientX, event.clientY));
      canvas.addEventListener("pointerleave", () => { if (this.drag === null) this.leave(); });
      canvas.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        this.drag = this.time(canvas, event);
        canvas.setPointerCapture(event.pointerId);
      });
      canvas.addEventListener("pointerup", (event) => {
        const from = this.drag, to = this.time(canvas, event);
        this.drag = null;
        if (from === null) return;
        if (Math.abs(to - from) > LEAST_DRAG_PX * this.secondsPerPixel(canvas)) this.show(Math.min(from, to), Math.max(from, to));
        else this.draw();
      });
      canvas.addEventListener("pointercancel", () => { this.drag = null; this.leave(); });
      canvas.addEventListener("dblclick", () => this.show(0, this.run.duration_s));
      canvas.addEventListener("blur", () => this.leave());
      canvas.addEventListener("keydown", (event) => this.key(canvas, event));
    }

    key(canvas, event) {
      const [begin, end] = this.view, length = end - begin;
      const at = this.cursor ?? (begin + end) / 2;
      const step = length / (event.shiftKey ? 20 : 200);
      const zoom = (factor) => this.show(at - (at - begin) * factor, at + (end - at) * factor);
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
        const t = clamp(at + (event.key === "ArrowLeft" ? -step : step), begin, end);
        const box = canvas.getBoundingClientRect();
        this.point(t, box.left + PAD.left + (t - begin) / this.secondsPerPixel(canvas), box.top + PAD.top);
      } else if (event.key === "+" || event.key === "=") zoom(0.5);
      else if (event.key === "-") zoom(2);
      else if (event.key === "Escape") { this.leave(); this.show(0, this.run.duration_s); }
      else return;
      event.preventDefault();
    }

    secondsPerPixel(canvas) { return (this.view[1] - this.view[0]) / Math.max(1, canvas.clientWidth - PAD.left - PAD.right); }

    time(canvas, event) {
      const across = event.clientX - canvas.getBoundingClientRect().left - PAD.left;
      return clamp(this.view[0] + across * this.secondsPerPixel(canvas), this.view[0], this.view[1]);
    }

    show(begin, end) {
      const least = this.run.duration_s * LEAST_VIEW, middle = (begin + end) / 2;
      if (end - begin < least) [begin, end] = [middle - least / 2, middle + least / 2];
      this.view = [Math.max(0, begin), Math.min(this.run.duration_s, end)];
      this.reset.hidden = this.view[0] === 0 && this.view[1] === this.run.duration_s;
      this.draw();
    }

    leave() {
      this.cursor = null;
      this.values.hidden = true;
      this.draw();
    }

    point(t, clientX, clientY) {
      this.cursor = t;
      this.tell(t);
      this.values.hidden = false;
      const { offsetWidth, offsetHeight } = this.values;
      const left = clientX + 16 + offsetWidth > innerWidth ? clientX - 16 - offsetWidth : clientX + 16;
      this.values.style.left = `${Math.max(4, left)}px`;
      this.values.style.top = `${clamp(clientY + 12, 4, Math.max(4, innerHeight - offsetHeight - 4))}px`;
      this.draw();
    }

    /* The values at one moment: a row a line, a column a panel. */
    tell(t) {
      const panels = this.run.panels;
      const rows = new Map();
      panels.forEach((panel, column) => {
        for (const series of panel.series) {
          if (this.isHidden(panel, series.label)) continue;
          if (!rows.has(series.label)) rows.set(series.label, panels.map(() => ""));
          rows.get(series.label)[column] = shown(series.y[nearest(series.x_s, t, this.reach)]);
        }
      });
      const cells = (name, texts) => element("tr", {}, texts.map((text) => element(name, { textContent: text })));
      const head = cells("th", [`${t.toFixed(3)} s`, ...panels.map((panel) => `${panel.title}, ${panel.unit}`)]);
      const body = [...rows].slice(0, MOST_ROWS).map(([label, texts]) => cells("td", [label, ...texts]));
      for (const row of body) row.firstChild.style.textAlign = "left";
      if (rows.size > MOST_ROWS) body.push(cells("td", [`and ${rows.size - MOST_ROWS} more`]));
      this.values.replaceChildren(element("table", {}, [head, ...body]));
    }

    draw() {
      this.frame ??= requestAnimationFrame(() => {
        this.frame = undefined;
        const root = getComputedStyle(document.documentElement);
        this.colour = (name) => root.getPropertyValue(name).trim();
        this.canvases.forEach((canvas, index) => drawPanel(this, canvas, this.run.panels[index]));
      });
    }
  }

  const drawn = [];
  const sight = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      sight.unobserve(target);
      drawn.push(new Charts(target, runs[Number(target.dataset.run)]));
    }
  }, { rootMargin: "600px" });
  document.querySelectorAll(".charts").forEach((host) => sight.observe(host));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach((charts) => charts.draw()));

  /* Paper gets the static figures, where there are some. */
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("details:not([open])")];
    for (const part of opened) part.open = true;
  });
  addEventListener("afterprint", () => { for (const part of opened) part.open = false; });
})();
