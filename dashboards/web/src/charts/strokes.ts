/** Draws the lines of a chart on its canvas. uPlot would spend half of a frame's time on joins that are invisible at this width. */
import type uPlot from "uplot";
import { bandOf, stripesOf } from "./coincidence";
import { type Line, valued } from "./line";

export type Datum = [Float64Array, Float64Array];

const AREA_ALPHA = 0.14;
/** The columns in which lines are compared, and the stripes in which those on the same values alternate, in pixels of the page. */
const COLUMN_PX = 2;
const STRIPE_PX = 8;
/** Stripes of more lines than this could not be distinguished. */
const MOST_STRIPED = 16;

export interface LinesOptions {
  lines: readonly Line[];
  /** Whether the window moves: then everything is drawn coarsely. */
  moving: boolean;
  /** Whether values above the chart are marked. */
  peaks: boolean;
}

export function drawLines(u: uPlot, { lines, moving, peaks }: LinesOptions): void {
  const { ctx, bbox } = u;
  const wide = moving ? 2 : 1;
  const datumOf = (line: Line): Datum => u.data[lines.indexOf(line) + 1] as unknown as Datum;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.lineJoin = "bevel";
  for (const line of lines) if (line.area) fillBelow(u, line.colour, datumOf(line), wide);
  for (const line of lines) stroke(u, line, datumOf(line), wide);
  if (!moving) drawMeeting(u, valued(lines), datumOf);
  ctx.setLineDash([]);
  if (peaks) for (const line of valued(lines)) markPeaks(u, line, datumOf(line));
  ctx.restore();
}

function stroke(u: uPlot, line: Line, datum: Datum, wide: number): void {
  const { ctx } = u;
  ctx.strokeStyle = line.colour;
  ctx.lineWidth = line.width * devicePixelRatio;
  ctx.setLineDash(line.dash.map((length) => length * devicePixelRatio));
  ctx.beginPath();
  trace(u, datum, wide);
  ctx.stroke();
}

/** Draws lines on the same values again, each in its own stripes, so that the last one does not cover the others. */
function drawMeeting(u: uPlot, lines: readonly Line[], datumOf: (line: Line) => Datum): void {
  if (lines.length < 2 || lines.length > MOST_STRIPED) return;
  const { ctx, bbox } = u;
  const column = COLUMN_PX * devicePixelRatio;
  const toPixels = pixelsOf(u);
  if (toPixels === null) return;
  const bands = lines.map((line) => {
    const [t, v] = datumOf(line);
    const xs = t.map((time) => (toPixels.x(time) - bbox.left) / column);
    const ys = v.map((value) => toPixels.y(value) / devicePixelRatio);
    return bandOf(xs, ys, Math.ceil(bbox.width / column));
  });
  stripesOf(bands, STRIPE_PX / COLUMN_PX).forEach((stripes, at) => {
    const line = lines[at];
    if (line === undefined || stripes.length === 0) return;
    ctx.save();
    ctx.beginPath();
    for (const [first, end] of stripes) {
      ctx.rect(bbox.left + first * column, bbox.top, (end - first) * column, bbox.height);
    }
    ctx.clip();
    stroke(u, line, datumOf(line), 1);
    ctx.restore();
  });
}

/** Positions on the canvas. Null while the axes have no range. */
function pixelsOf(u: uPlot): { x: (time: number) => number; y: (value: number) => number } | null {
  const { x, y } = u.scales;
  if (x?.min == null || x.max == null || y?.min == null || y.max == null) return null;
  const { left, top, width, height } = u.bbox;
  const log = y.distr === 3;
  const level = (value: number): number => (log ? Math.log10(Math.max(value, 1e-9)) : value);
  const [low, high] = [level(y.min), level(y.max)];
  const [begin, perX, perY, foot] = [x.min, width / (x.max - x.min), height / (high - low), top + height];
  return { x: (time) => left + (time - begin) * perX, y: (value) => foot - (level(value) - low) * perY };
}

/** Draws a small arrow at the top wherever a line exceeds it. */
function markPeaks(u: uPlot, line: Line, [t, v]: Datum): void {
  const { ctx } = u;
  const { x, y } = u.scales;
  if (x?.min == null || x.max == null || y?.max == null) return;
  const { left, top, width } = u.bbox;
  const size = 4 * devicePixelRatio;
  ctx.fillStyle = line.colour;
  let last = Number.NEGATIVE_INFINITY;
  for (let place = 0; place < t.length; place++) {
    if ((v[place] ?? 0) <= y.max) continue;
    const at = left + (((t[place] ?? 0) - x.min) / (x.max - x.min)) * width;
    if (at - last < size) continue;
    last = at;
    ctx.beginPath();
    ctx.moveTo(at - size, top + size * 1.5);
    ctx.lineTo(at + size, top + size * 1.5);
    ctx.lineTo(at, top);
    ctx.fill();
  }
}

/** Shades what is below a line. */
function fillBelow(u: uPlot, colour: string, datum: Datum, wide: number): void {
  const { ctx } = u;
  const [first, last] = [datum[0][0], datum[0].at(-1)];
  if (first === undefined || last === undefined) return;
  const foot = u.bbox.top + u.bbox.height;
  ctx.save();
  ctx.fillStyle = colour;
  ctx.globalAlpha = AREA_ALPHA;
  ctx.beginPath();
  trace(u, datum, wide);
  ctx.lineTo(u.valToPos(last, "x", true), foot);
  ctx.lineTo(u.valToPos(first, "x", true), foot);
  ctx.fill();
  ctx.restore();
}

/** Draws a line through the minimum and the maximum of each column of pixels, in order. */
function trace(u: uPlot, [t, v]: Datum, wide: number): void {
  const { ctx } = u;
  const at = pixelsOf(u);
  if (at === null) return;
  let column = Number.NaN;
  let [least, greatest, last] = [0, 0, 0];
  for (let place = 0; place < t.length; place++) {
    const px = at.x(t[place] ?? 0);
    const py = at.y(v[place] ?? 0);
    const now = Math.round(px / wide) * wide;
    if (now === column) {
      if (py < least) least = py;
      else if (py > greatest) greatest = py;
      last = py;
      continue;
    }
    if (least !== greatest) {
      ctx.lineTo(column, least);
      ctx.lineTo(column, greatest);
      ctx.lineTo(column, last);
    }
    if (place === 0) ctx.moveTo(px, py);
    else ctx.lineTo(px, py);
    column = now;
    least = greatest = last = py;
  }
  if (least !== greatest) {
    ctx.lineTo(column, least);
    ctx.lineTo(column, greatest);
  }
}
