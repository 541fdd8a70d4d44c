/** A chart as a self-contained SVG file on white, for papers and slides. */
import { PALETTE } from "../theme/palette";
import { bandOf, type Stripe, stripesOf } from "./coincidence";
import type { Mark } from "./line";
import type { Quantity } from "./quantities";
import { type Referring, rangeOf } from "./range";
import { extentOf, NOTHING, type Samples, type Window, within } from "./samples";
import { isInSight, SIGNS, type SignKind, sampleOf } from "./signs";

export interface FigureLine extends Referring {
  name: string;
  /** Its position among the lines, for the colours of the light theme. */
  place: number;
  dash: readonly number[];
  width?: number;
  silent?: boolean;
  sign?: SignKind;
  samples: Samples;
}

export interface FigureOptions {
  title: string;
  x: Quantity;
  y: Quantity;
  window: Window;
  log: boolean;
  clip?: boolean;
  /** Times that measures leave out, and their sign. */
  shaded?: readonly Window[];
  shade?: SignKind;
  marks?: readonly Mark[];
  /** Times at which packets were dropped. */
  drops?: ArrayLike<number> | undefined;
  lines: readonly FigureLine[];
}

const [WIDTH, HEIGHT] = [880, 420];
// Colours of the light theme.
const [PLAIN, BAD] = ["#646b73", "#b92a2a"];
const BOX = { left: 96, top: 44, right: 24, bottom: 56 };
/** The greatest width of a line. */
const WIDE = 1.5;
const LEGEND_LINE = 18;
const LEGEND_COLUMNS = 3;
const LEGEND_WIDTH = 258;
/** In pixels: where lines are compared, and the stripes in which those on the same values alternate. */
const COLUMN = 2;
const STRIPE = 8;

/** About 5 round values in a window. */
export function ticksIn([from, to]: Window, most = 7): number[] {
  const rough = (to - from) / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10) * power;
  const found: number[] = [];
  for (let at = Math.ceil(from / step - 1e-9); at * step <= to + step * 1e-9; at++) found.push(at * step + 0);
  return found;
}

export function figure(options: FigureOptions): string {
  const { title, x, y, window, log, clip, shaded = [], lines } = options;
  const cut = lines.map((line) => within(line.samples, window));
  const [least, greatest] = extentOf(cut) ?? [0, 1];
  const shown: Window = log
    ? [Math.max(least, greatest / 1e6, 1e-3), Math.max(greatest * 1.1, 1e-2)]
    : rangeOf(cut, lines, { log, clip }).window;
  const range: Window = log ? [Math.log10(shown[0]), Math.log10(shown[1])] : shown;
  const seen = lines.filter((line, at) => !line.reference || isInSight(cut[at] ?? NOTHING, shown));
  const entries = entriesOf({ ...options, lines: seen });
  const legend = Math.ceil(entries.length / LEGEND_COLUMNS) * LEGEND_LINE;
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
    `<g clip-path="url(#plot)" fill="none" stroke-linejoin="round">`,
    ...momentsOf(options, atX, foot),
    ...cut.map((samples, at) => stroke(samples, lines[at], atX, atY)),
    ...meetings(lines, cut, (time) => (atX(time) - BOX.left) / COLUMN, atY).map(({ at, stripes }) => {
      const rects = stripes.map(
        ([first, end]) =>
          `<rect x="${BOX.left + first * COLUMN}" y="${BOX.top}" width="${(end - first) * COLUMN}" height="${foot - BOX.top}"/>`,
      );
      const again = stroke(cut[at] ?? NOTHING, lines[at], atX, atY);
      return `<clipPath id="stripes${at}">${rects.join("")}</clipPath><g clip-path="url(#stripes${at})">${again}</g>`;
    }),
    "</g>",
    `<path d="M${BOX.left} ${BOX.top}V${foot}H${right}" fill="none" stroke="#646b73"/>`,
    ...entries.map(({ drawing, text }, at) => {
      const [left, top] = [
        BOX.left + (at % LEGEND_COLUMNS) * LEGEND_WIDTH,
        HEIGHT + Math.floor(at / LEGEND_COLUMNS) * LEGEND_LINE,
      ];
      return `<g transform="translate(${left} ${top - 10})">${drawing}</g>${label(left + 30, top, text, "start")}`;
    }),
    "</svg>",
  ];
  return parts.join("\n");
}

/** The legend: a sample and a text for each line and for each sign. */
function entriesOf({ window, shaded = [], shade = "excluded", marks = [], drops, lines }: FigureOptions) {
  const [from, to] = window;
  const named = lines
    .filter((line) => !line.silent)
    .map((line) => ({ drawing: `<path d="M0 6h24" ${look(line, 2)}/>`, text: line.name }));
  const signs = new Set<SignKind>();
  for (const { silent, sign, samples } of lines) if (silent && sign && samples.t.length > 0) signs.add(sign);
  for (const { t, sign } of marks) if (t >= from && t <= to) signs.add(sign);
  if ((drops?.length ?? 0) > 0) signs.add("drop");
  if (shaded.some(([begin, end]) => begin < to && end > from)) signs.add(shade);
  return [...named, ...[...signs].map((sign) => ({ drawing: sampleSvg(sign), text: SIGNS[sign].text }))];
}

function sampleSvg(sign: SignKind): string {
  const { d, dash, width = 1.5, opacity = 1, bad = false } = sampleOf(sign);
  const pattern = dash === undefined ? "" : ` stroke-dasharray="${dash}"`;
  const colour = bad ? BAD : PLAIN;
  return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${width}" opacity="${opacity}"${pattern}/>`;
}

/** Marks of moments, and drops at the foot. */
function momentsOf({ window, marks = [], drops = [] }: FigureOptions, atX: (time: number) => number, foot: number) {
  const [from, to] = window;
  const drawn = marks
    .filter(({ t }) => t >= from && t <= to)
    .map(({ t, place, strong, text }) => {
      const colour = place === null ? PLAIN : colourAt(place);
      const dash = strong ? "4 3" : "1 3";
      const path = `M${atX(t).toFixed(1)} ${BOX.top}V${foot}`;
      return `<path d="${path}" stroke="${colour}" stroke-width="1" stroke-dasharray="${dash}"><title>${escaped(text)}</title></path>`;
    });
  const ticks = Array.from(drops, (time) => `M${atX(time).toFixed(1)} ${foot}v-7`);
  return ticks.length === 0 ? drawn : [...drawn, `<path d="${ticks.join("")}" stroke="${BAD}" stroke-width="1"/>`];
}

/** Lines on the same values, with their stripes (coincidence.ts). */
function meetings(
  lines: readonly FigureLine[],
  cut: readonly Samples[],
  columnOf: (time: number) => number,
  atY: (value: number) => number,
): { at: number; stripes: readonly Stripe[] }[] {
  const own = lines.map((_, at) => at).filter((at) => !lines[at]?.silent && !lines[at]?.reference);
  const columns = Math.ceil((WIDTH - BOX.left - BOX.right) / COLUMN);
  const bands = own.map((at) => {
    const { t, v } = cut[at] ?? NOTHING;
    return bandOf(t.map(columnOf), v.map(atY), columns);
  });
  return stripesOf(bands, STRIPE / COLUMN).flatMap((stripes, place) => {
    const at = own[place];
    return at === undefined || stripes.length === 0 ? [] : [{ at, stripes }];
  });
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

function look({ place, dash, width, reference }: FigureLine, wide = Math.min(width ?? WIDE, WIDE)): string {
  const pattern = dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  return `stroke="${reference ? PLAIN : colourAt(place)}" stroke-width="${wide}"${pattern}`;
}

function colourAt(place: number): string {
  return PALETTE.light[place % PALETTE.light.length] ?? PLAIN;
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
