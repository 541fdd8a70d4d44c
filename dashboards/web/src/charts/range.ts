/** The range of a chart's y axis, on the page and in its files. */
import { extentOf, type Samples, type Window } from "./samples";

/** A reference line, such as a capacity or a buffer, has its own name and is not a value of a flow. */
export interface Referring {
  reference?: boolean;
}

export interface RangeOptions {
  log: boolean;
  /** A value up to which the axis always reaches. */
  top?: number | undefined;
  /** Whether values above all references are cut off, because those below matter. */
  clip?: boolean | undefined;
}

export interface Range {
  window: Window;
  /** The maximum, if it is cut off. */
  peak: number | null;
}

// A reference this far above all values is not shown, because it would press them to the foot.
const NEAR = 1.3;
const ABOVE = 1.15;

export function rangeOf(
  cut: readonly Samples[],
  lines: readonly Referring[],
  { log, top, clip = false }: RangeOptions,
): Range {
  const values = extentOf(cut.filter((_, at) => !lines[at]?.reference));
  const [, reference] = extentOf(cut.filter((_, at) => lines[at]?.reference)) ?? [0, 0];
  if (log) return { window: logRange(values), peak: null };
  const [least, greatest] = values ?? [0, 1];
  let upper = Math.max(greatest, top ?? 0);
  if (reference > 0 && reference <= upper * NEAR) upper = Math.max(upper, reference);
  const peak = clip && reference > 0 && upper > reference * ABOVE ? greatest : null;
  if (peak !== null) upper = reference * ABOVE;
  // Values that are close to each other and far from 0: show their differences.
  const lower =
    least > upper * 0.6 && top === undefined && reference === 0
      ? least - (upper - least) * 0.15 - upper * 0.002
      : Math.min(0, least);
  const room = peak === null ? (upper - lower) * 0.06 : 0;
  return { window: [lower, upper > lower ? upper + room : lower + 1], peak };
}

function logRange(found: Window | null): Window {
  const [least, greatest] = found ?? [1, 10];
  const upper = Math.max(greatest, 1);
  return [Math.max(least, upper / 1e6, 1e-3) * 0.9, upper * 1.15];
}
