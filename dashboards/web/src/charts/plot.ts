/** One chart on a canvas: uPlot with a time base for each line (its mode 2). Lines are cut to the window and drawn as the minimum
 * and maximum of each column of pixels. Charts share a span.
 */
import uPlot from "uplot";
import { colourOf } from "../theme/palette";
import { followGestures, pans } from "./gestures";
import type { Line, Mark } from "./line";
import type { Quantity } from "./quantities";
import { type Range, rangeOf } from "./range";
import { NOTHING, type Window, within } from "./samples";
import type { Span } from "./span";
import { type Datum, drawLines } from "./strokes";

export interface PlotOptions {
  span: Span;
  x: Quantity;
  y: Quantity;
  log: boolean;
  lines: readonly Line[];
  marks: readonly Mark[];
  /** Times that are drawn as strokes at the foot of the chart. */
  rug?: ((window: Window) => Float64Array) | undefined;
  height: number;
  /** A value up to which the axis always reaches. */
  top?: number | undefined;
  clip?: boolean | undefined;
  /** Times that measures leave out. */
  shaded: readonly Window[];
  /** Called with the maximum if values are cut off, otherwise with null. */
  onPeak?: ((peak: number | null) => void) | undefined;
}

const FONT_PX = 11;
const FAMILY = 'system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
/** The space beside the y axis, and the part of it between a text and the axis. */
const AXIS_PX = 68;
const GAP_PX = 6;
const FONT = `${FONT_PX}px ${FAMILY}`;

export class Plot {
  readonly #u: uPlot;
  readonly #options: PlotOptions;
  readonly #unsubscribe: (() => void)[] = [];
  readonly #seen: IntersectionObserver;
  #visible = true;
  #stale = false;
  // Colours of the theme; another theme makes a new chart.
  readonly #plain = colourOf("--line-strong");
  readonly #bad = colourOf("--bad");
  readonly #text = colourOf("--text-2");
  readonly #shade = colourOf("--text-3");
  #peak: number | null = null;

  constructor(host: HTMLElement, options: PlotOptions) {
    this.#options = options;
    this.#u = new uPlot(this.#settings(host.clientWidth), this.#data() as unknown as uPlot.AlignedData, host);
    const { span } = options;
    const resized = new ResizeObserver(() => {
      if (host.clientWidth > 0) this.#u.setSize({ width: host.clientWidth, height: options.height });
    });
    resized.observe(host);
    this.#seen = new IntersectionObserver(([entry]) => {
      this.#visible = entry?.isIntersecting ?? true;
      if (this.#visible && this.#stale) span.request(this.#draw);
    });
    this.#seen.observe(host);
    this.#unsubscribe.push(
      () => resized.disconnect(),
      span.onDraw(this.#draw),
      span.onPoint(() => this.#point()),
      followGestures(this.#u.over, span),
    );
    this.#draw();
  }

  /** Draws new samples in the next frame. */
  refresh = (): void => this.#options.span.request(this.#draw);

  destroy(): void {
    for (const one of this.#unsubscribe) one();
    this.#seen.disconnect();
    this.#u.destroy();
  }

  #draw = (): void => {
    this.#stale = !this.#visible;
    if (this.#stale) return;
    const data = this.#data();
    const [from, to] = this.#options.span.shown;
    const { window, peak } = this.#range(data);
    const [least, greatest] = window;
    if (peak !== this.#peak) this.#options.onPeak?.(peak);
    this.#peak = peak;
    this.#u.batch(() => {
      this.#u.setData(data as unknown as uPlot.AlignedData, false);
      this.#u.setScale("x", { min: from, max: to });
      this.#u.setScale("y", { min: least, max: greatest });
    });
  };

  #data(): [null, ...Datum[]] {
    const shown = this.#options.span.shown;
    const lines = this.#options.lines.map((line) => within(line.samples(shown), shown));
    return [null, ...(lines.length > 0 ? lines : [NOTHING]).map(({ t, v }): Datum => [t, v])];
  }

  #range([, ...data]: [null, ...Datum[]]): Range {
    const cut = data.map(([t, v]) => ({ t, v }));
    return rangeOf(cut, this.#options.lines, this.#options);
  }

  #point(): void {
    const { cursor } = this.#options.span;
    const left = cursor === null ? -10 : this.#u.valToPos(cursor, "x");
    if (Math.abs((this.#u.cursor.left ?? -10) - left) > 0.5) this.#u.setCursor({ left, top: 0 }, false);
  }

  #settings(width: number): uPlot.Options {
    const { x, y, log, lines, height } = this.#options;
    const [words, grid] = [colourOf("--text-3"), colourOf("--line")];
    const axis = { stroke: words, font: FONT, grid: { stroke: grid, width: 1 }, ticks: { show: false } };
    const drawn = lines.length > 0 ? lines : [{ colour: "transparent", dash: [], width: 0 }];
    return {
      mode: 2,
      width,
      height,
      padding: [8, 20, 0, 0],
      legend: { show: false },
      scales: { x: { time: false, auto: false }, y: { auto: false, distr: log ? 3 : 1 } },
      axes: [
        { ...axis, space: 70, size: 26, gap: 6, values: (_u, values) => x.ticks(values) },
        {
          ...axis,
          space: 34,
          size: AXIS_PX,
          gap: GAP_PX,
          values: (u, values) =>
            y
              .ticks(values.map((value) => value ?? Number.NaN))
              .map((text, at) => (values[at] === null ? "" : fitted(u.ctx, text))),
        },
      ],
      series: [
        {},
        ...drawn.map(
          (line): uPlot.Series => ({
            auto: false,
            stroke: line.colour,
            width: line.width,
            dash: [...line.dash],
            paths: () => null,
            points: { show: false },
            facets: [
              { scale: "x", auto: false },
              { scale: "y", auto: false },
            ],
          }),
        ),
      ],
      cursor: {
        x: true,
        y: false,
        points: { show: false },
        dataIdx: () => null as unknown as number,
        drag: { x: true, y: false, setScale: false, dist: 4 },
        bind: {
          dblclick: () => null,
          mousedown: (_u, _t, handle) => (event) => {
            if (!pans(event)) handle(event);
            return null;
          },
        },
      },
      hooks: {
        drawAxes: [(u) => this.#drawMarks(u)],
        draw: [(u) => this.#drawLines(u)],
        setSelect: [
          (u) => {
            const { left, width: wide } = u.select;
            if (wide < 4) return;
            this.#options.span.show([u.posToVal(left, "x"), u.posToVal(left + wide, "x")]);
            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
          },
        ],
      },
    };
  }

  #drawLines(u: uPlot): void {
    const { lines, span } = this.#options;
    drawLines(u, { lines, moving: span.moving, peaks: this.#peak !== null });
    lines.forEach((line, at) => {
      if (line.reference) this.#nameReference(u, line, u.data[at + 1] as unknown as Datum);
    });
  }

  /** Draws the name of a reference at its right end, above the line if there is space. */
  #nameReference(u: uPlot, line: Line, [, v]: Datum): void {
    const last = v[v.length - 1];
    if (last === undefined) return;
    const { ctx, bbox } = u;
    const y = u.valToPos(last, "y", true);
    if (y < bbox.top || y > bbox.top + bbox.height) return;
    const ratio = devicePixelRatio;
    ctx.save();
    ctx.font = `${FONT_PX * ratio}px ${FAMILY}`;
    ctx.fillStyle = this.#text;
    ctx.textAlign = "right";
    ctx.textBaseline = y - bbox.top > 14 * ratio ? "bottom" : "top";
    ctx.fillText(line.name, bbox.left + bbox.width - 4 * ratio, y + (ctx.textBaseline === "top" ? 3 : -2) * ratio);
    ctx.restore();
  }

  #drawMarks(u: uPlot): void {
    const { ctx, bbox } = u;
    const { marks, rug, span, shaded } = this.#options;
    const [from, to] = span.shown;
    const at = (time: number): number => Math.round(bbox.left + ((time - from) / (to - from)) * bbox.width) + 0.5;
    ctx.save();
    ctx.fillStyle = this.#shade;
    ctx.globalAlpha = 0.13;
    for (const [begin, end] of shaded) {
      const [left, right] = [at(Math.max(from, begin)), at(Math.min(to, end))];
      if (right > left) ctx.fillRect(left, bbox.top, right - left, bbox.height);
    }
    ctx.globalAlpha = 1;
    ctx.lineWidth = 1;
    for (const mark of marks) {
      if (mark.t < from || mark.t > to) continue;
      ctx.strokeStyle = mark.colour ?? this.#plain;
      ctx.setLineDash(mark.strong ? [4, 3] : [1, 3]);
      ctx.beginPath();
      ctx.moveTo(at(mark.t), bbox.top);
      ctx.lineTo(at(mark.t), bbox.top + bbox.height);
      ctx.stroke();
    }
    if (rug !== undefined) {
      ctx.setLineDash([]);
      ctx.strokeStyle = this.#bad;
      ctx.beginPath();
      for (const time of rug(span.shown)) {
        ctx.moveTo(at(time), bbox.top + bbox.height);
        ctx.lineTo(at(time), bbox.top + bbox.height - 7 * devicePixelRatio);
      }
      ctx.stroke();
    }
    ctx.restore();
  }
}

/** A text beside the axis: a unit that does not fit goes below its number. */
function fitted(ctx: CanvasRenderingContext2D, text: string): string {
  ctx.save();
  ctx.font = FONT;
  const { width } = ctx.measureText(text);
  ctx.restore();
  return width > AXIS_PX - GAP_PX ? text.replace(" ", "\n") : text;
}
