/** Scales of drawings: numbers, linear or logarithmic, and words in their order. A share is 0 at the low end and 1 at the high one. */
import { ticksIn } from "../charts/figure";
import { extentOf, type Window } from "../charts/samples";
import { spellNumber } from "../units";

export interface Scale {
  /** The place of a value; of a word, that of its text. */
  share: (value: number) => number;
  /** The value at a place. */
  value: (share: number) => number;
  ticks: readonly number[];
  log: boolean;
  window: Window;
}

export function linear(window: Window, most = 6): Scale {
  const [from, to] = window[1] > window[0] ? window : [window[0] - 0.5, window[0] + 0.5];
  return {
    share: (value) => (value - from) / (to - from),
    value: (share) => from + share * (to - from),
    ticks: ticksIn([from, to], most),
    log: false,
    window: [from, to],
  };
}

export function logarithmic(window: Window, values: readonly number[] = []): Scale {
  const [from, to] = window[1] > window[0] ? window : [window[0] / 2, window[0] * 2];
  const [low, high] = [Math.log(from), Math.log(to)];
  const decades: number[] = [];
  for (let power = Math.ceil(Math.log10(from) - 1e-9); 10 ** power <= to * (1 + 1e-9); power++)
    decades.push(10 ** power);
  return {
    share: (value) => (Math.log(value) - low) / (high - low),
    value: (share) => Math.exp(low + share * (high - low)),
    ticks: values.length > 0 && values.length <= 8 ? values : decades.length > 1 ? decades : [from, to],
    log: true,
    window: [from, to],
  };
}

/** A scale with room beyond both ends, so that marks there are whole. */
export function inset<S extends Scale>(scale: S, room: number): S {
  return {
    ...scale,
    share: (value: number) => room + scale.share(value) * (1 - 2 * room),
    value: (share: number) => scale.value((share - room) / (1 - 2 * room)),
  };
}

/** The range of values, with some room; from 0 if that is near. */
export function roomy(values: readonly number[], fromZero = false): Window {
  const [least, greatest] = extent(values);
  const low = fromZero || (least > 0 && least < greatest * 0.4) ? Math.min(0, least) : least;
  const room = (greatest - low || Math.abs(greatest) || 1) * 0.05;
  return [low === 0 ? 0 : low - room, greatest + room];
}

export function extent(values: Iterable<number>): Window {
  return extentOf([{ v: values }]) ?? [0, 1];
}

/** The number of a field's value in a base unit, with the kind of that unit: "20 ms" -> [0.02, "s"]; null if it is a word. */
export function quantityOf(text: string): readonly [value: number, kind: string] | null {
  const match = /^\s*([+-]?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\s*([^\d\s].*)?$/i.exec(text);
  if (match === null) return null;
  const unit = (match[2] ?? "").trim();
  const known = UNITS[unit];
  if (known === undefined) return null;
  return [Number(match[1]) * known[0], known[1]];
}

const UNITS: Readonly<Record<string, readonly [factor: number, kind: string]>> = {
  "": [1, ""],
  "%": [0.01, ""],
  ns: [1e-9, "s"],
  us: [1e-6, "s"],
  µs: [1e-6, "s"],
  ms: [1e-3, "s"],
  s: [1, "s"],
  min: [60, "s"],
  h: [3600, "s"],
  "bit/s": [1, "bit/s"],
  "kbit/s": [1e3, "bit/s"],
  "Mbit/s": [1e6, "bit/s"],
  "Gbit/s": [1e9, "bit/s"],
  "Tbit/s": [1e12, "bit/s"],
  BDP: [1, "BDP"],
  packets: [1, "packets"],
  packet: [1, "packets"],
  B: [1, "B"],
  KB: [1e3, "B"],
  MB: [1e6, "B"],
  GB: [1e9, "B"],
  TB: [1e12, "B"],
  KiB: [1024, "B"],
  MiB: [1024 ** 2, "B"],
  GiB: [1024 ** 3, "B"],
};

export interface FieldScale extends Scale {
  /** The values of the field in order. */
  values: readonly string[];
  /** The number of a value on this scale. */
  number: (text: string) => number;
  /** The value at a number of the scale, as text. */
  text: (value: number) => string;
}

/** The scale of a swept field: of quantities of one kind, logarithmic if its values are; else its words in the order of the sweep. */
export function fieldScale(texts: readonly string[]): FieldScale {
  const values = [...new Set(texts)];
  const quantities = values.map(quantityOf);
  const kinds = new Set(quantities.map((one) => one?.[1] ?? null));
  const numeric = quantities.every((one) => one !== null) && kinds.size === 1 && values.length > 1;
  if (!numeric) {
    const places = new Map(values.map((value, at) => [value, at]));
    return {
      ...linear([0, Math.max(1, values.length - 1)]),
      ticks: values.map((_, at) => at),
      values,
      number: (text) => places.get(text) ?? 0,
      text: (value) => spellNumber(values[Math.round(value)] ?? ""),
    };
  }
  const numbers = quantities.map((one) => one?.[0] ?? 0);
  const order = values.map((_, at) => at).sort((a, b) => (numbers[a] ?? 0) - (numbers[b] ?? 0));
  const sorted = order.map((at) => numbers[at] ?? 0);
  const written = new Map(order.map((at) => [numbers[at] ?? 0, values[at] ?? ""]));
  const window = extent(sorted);
  const scale = isLog(sorted) ? logarithmic(window, sorted) : linear(window);
  return {
    ...scale,
    ticks: sorted.length <= 8 ? sorted : scale.ticks.filter((tick) => written.has(tick)).concat(window),
    values: order.map((at) => values[at] ?? ""),
    number: (text) => quantityOf(text)?.[0] ?? 0,
    text: (value) => spellNumber(written.get(value) ?? nearest(value, written)),
  };
}

/** Whether numbers in order are spaced by factors rather than by steps: at least three, and by a factor of four or more. */
export function isLog(sorted: readonly number[]): boolean {
  const [first = 0, last = 0] = [sorted[0], sorted.at(-1)];
  if (sorted.length < 3 || first <= 0 || last / first < 4) return false;
  return unevenness(sorted.map(Math.log)) < unevenness(sorted);
}

/** The deviation of the steps, as a share of their mean. */
function unevenness(values: readonly number[]): number {
  const steps = values.slice(1).map((value, at) => value - (values[at] ?? 0));
  const mean = steps.reduce((sum, step) => sum + step, 0) / steps.length;
  return Math.sqrt(steps.reduce((sum, step) => sum + (step - mean) ** 2, 0) / steps.length) / (mean || 1);
}

function nearest(value: number, written: ReadonlyMap<number, string>): string {
  let [best, text] = [Number.POSITIVE_INFINITY, ""];
  for (const [number, one] of written) {
    if (Math.abs(number - value) < best) [best, text] = [Math.abs(number - value), one];
  }
  return text;
}
