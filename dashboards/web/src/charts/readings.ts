/** The values of lines: at a time, over a window, and as rows of a table. */
import type { Line } from "./line";
import { valueAt, type Window, within } from "./samples";

export interface Statistics {
  last: number | null;
  /** Weighted by time. */
  mean: number | null;
  greatest: number | null;
  /** How much a count rises in the window. */
  rise: number | null;
}

const NONE: Statistics = { last: null, mean: null, greatest: null, rise: null };

/** Statistics of a line in a window, from the values that are drawn. */
export function statisticsOf(line: Line, window: Window): Statistics {
  const { t, v } = within(line.samples(window), window);
  const last = valueAt({ t, v }, window[1]);
  let [area, length, greatest] = [0, 0, Number.NEGATIVE_INFINITY];
  for (let at = 0; at < t.length; at++) {
    const [time, value] = [t[at] ?? 0, v[at] ?? 0];
    if (time >= window[0] && time <= window[1] && value > greatest) greatest = value;
    if (at === 0) continue;
    // The line between two values, as far as it is in the window.
    const [before, former] = [t[at - 1] ?? 0, v[at - 1] ?? 0];
    const [from, to] = [Math.max(before, window[0]), Math.min(time, window[1])];
    if (to <= from) continue;
    const middle = former + ((value - former) * ((from + to) / 2 - before)) / (time - before);
    area += middle * (to - from);
    length += to - from;
  }
  if (last === null) return NONE;
  const first = valueAt({ t, v }, window[0]) ?? 0;
  const mean = length > 0 ? area / length : last;
  return { last, mean, greatest: greatest === Number.NEGATIVE_INFINITY ? last : greatest, rise: last - first };
}

/** Where a cumulative distribution reaches a half; null if it does not. */
export function medianOf({ samples }: Line, window: Window): number | null {
  const { t, v } = samples(window);
  const at = v.findIndex((share) => share >= 0.5);
  return at < 0 ? null : (t[at] ?? null);
}

/** The values of lines at a time, largest first; lines without one come last. */
export function sortedAt<L extends Line>(
  lines: readonly L[],
  window: Window,
  time: number,
): { line: L; value: number | null }[] {
  return lines
    .map((line) => ({ line, value: valueAt(line.samples(window), time) }))
    .sort((a, b) => (b.value ?? Number.NEGATIVE_INFINITY) - (a.value ?? Number.NEGATIVE_INFINITY));
}

/** The most rows of a chart's table. */
export const MOST_ROWS = 200;

/** Times in a window with the value of each line: those of the samples if they are few, otherwise evenly spaced ones. */
export function rowsOf(lines: readonly Line[], window: Window): { t: number; values: (number | null)[] }[] {
  const samples = lines.map((line) => line.samples(window));
  const own = new Set<number>();
  for (const one of samples) {
    for (const time of within(one, window).t) if (time >= window[0] && time <= window[1]) own.add(time);
    if (own.size > MOST_ROWS) break;
  }
  const [from, to] = window;
  const times =
    own.size <= MOST_ROWS
      ? [...own].sort((a, b) => a - b)
      : Array.from({ length: MOST_ROWS }, (_, at) => from + ((to - from) * at) / (MOST_ROWS - 1));
  return times.map((t) => ({ t, values: samples.map((one) => valueAt(one, t)) }));
}
