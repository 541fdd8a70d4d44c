/** A chart as a self-contained SVG file on white, for papers and slides. */
import { PALETTE } from "../theme/palette";
import type { Quantity } from "./quantities";
import { type Referring, rangeOf } from "./range";
import { extentOf, type Samples, type Window, within } from "./samples";

export interface FigureLine extends Referring {
  name: string;
  /** Its position among the lines, for the colours of the light theme. */
  place: number;
  dash: readonly number[];
  samples: Samples;
}

export interface FigureOptions {
  title: string;
  x: Quantity;
  y: Quantity;
  window: Window;
  log: boolean;
  clip?: boolean;
  /** Times that measures leave out. */
  shaded?: readonly Window[];
  lines: readonly FigureLine[];
}

const [WIDTH, HEIGHT] = [880, 420];
const BOX = { left: 78, top: 44, right: 24, bottom: 56 };
const LEGEND_LINE = 18;

/** About 5 round values in a window. */
export function ticksIn([from, to]: Window, most = 7): number[] {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const found: number[] = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; at++) found.push(at * step + 0);
  return found;
}

export function figure({ title, x, y, window, log, clip, shaded = [], lines }: FigureOptions): string {
  const cut = lines.map((line) => within(line.samples, window));
  const [least, greatest] = extentOf(cut) ?? [0, 1];
  const range: Window = log
    ? [Math.log10(Math.max(least, greatest / 1e6, 1e-3)), Math.log10(Math.max(greatest * 1.1, 1e-2))]
    : rangeOf(cut, lines, { log, clip }).window;
  const legend = Math.ceil(lines.length / 4) * LEGEND_LINE;
  const [right, foot] = [WIDTH - BOX.right, HEIGHT - BOX.bottom];
  const atX = (value: number): number =>
    BOX.left + ((value - window[0]) / (window[1] - window[0])) * (right - BOX.left);
  const level = (value: number): number => (log ? Math.log10(Math.max(value, 1e-9)) : value);
  const atY = (value: number): number =>
    foot - ((level(value) - range[0]) / (range[1] - range[0] || 1)) * (foot - BOX.top);
  const xs = ticksIn(window);
  const ys = log ? decadesIn(range) : ticksIn(range);
  const parts = [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT + legend}" width="${WIDTH}" height="${HEIGHT + legend}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT + legend}" fill="#fff"/>`,
    label(BOX.left, 24, title, "start", 'font-size="15" font-weight="600"'),
    ...shaded.map(([begin, end]) => {
      const [left, reach] = [atX(Math.max(window[0], begin)), atX(Math.min(window[1], end))];
      return reach > left
        ? `<rect x="${left}" y="${BOX.top}" width="${reach - left}" height="${foot - BOX.top}" fill="#f0f1f2"/>`
        : "";
    }),
    ...y.ticks(ys).map((text, at) => {
      const level = atY(ys[at] ?? 0);
      return `<path d="M${BOX.left} ${level}H${right}" stroke="#e2e4e6"/>${label(BOX.left - 8, level + 4, text, "end")}`;
    }),
    ...x.ticks(xs).map((text, at) => label(atX(xs[at] ?? 0), foot + 20, text, "middle")),
    label((BOX.left + right) / 2, foot + 42, x.unit === "s" || !x.unit ? x.name : `${x.name} (${x.unit})`, "middle"),
    `<clipPath id="plot"><rect x="${BOX.left}" y="${BOX.top}" width="${right - BOX.left}" height="${foot - BOX.top}"/></clipPath>`,
    `<g clip-path="url(#plot)" fill="none" stroke-width="1.5" stroke-linejoin="round">`,
    ...cut.map((samples, at) => stroke(samples, lines[at], atX, atY)),
    "</g>",
    `<path d="M${BOX.left} ${BOX.top}V${foot}H${right}" fill="none" stroke="#646b73"/>`,
    ...lines.map((line, at) => {
      const [column, row] = [at % 4, Math.floor(at / 4)];
      const [left, top] = [BOX.left + column * 200, HEIGHT + row * LEGEND_LINE];
      return `<path d="M${left} ${top - 4}h24" ${look(line)} stroke-width="2"/>${label(left + 30, top, line.name, "start")}`;
    }),
    "</svg>",
  ];
  return parts.join("\n");
}

function stroke(
  { t, v }: Samples,
  line: FigureLine | undefined,
  atX: (value: number) => number,
  atY: (value: number) => number,
): string {
  if (t.length === 0 || line === undefined) return "";
  const points: string[] = [];
  for (let place = 0; place < t.length; place++) {
    points.push(`${atX(t[place] ?? 0).toFixed(2)} ${atY(v[place] ?? 0).toFixed(2)}`);
  }
  return `<path d="M${points.join("L")}" ${look(line)}/>`;
}

function look({ place, dash, reference }: FigureLine): string {
  const colour = reference ? "#646b73" : (PALETTE.light[place % PALETTE.light.length] ?? "#000");
  return `stroke="${colour}"${dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : ""}`;
}

function decadesIn([from, to]: Window): number[] {
  const found: number[] = [];
  for (let power = Math.ceil(from); power <= to; power++) found.push(10 ** power);
  return found.length > 0 ? found : [10 ** from];
}

function label(left: number, top: number, text: string, anchor: string, more = 'fill="#4a5158"'): string {
  return `<text x="${left.toFixed(1)}" y="${top.toFixed(1)}" text-anchor="${anchor}" ${more}>${escaped(text)}</text>`;
}

/** As text of SVG. */
export function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
