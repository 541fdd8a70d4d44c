/** The signs in charts besides the lines of flows: their meaning and a sample of each, for the key on the page and in files. */
import type { Line, Mark } from "./line";
import { rangeOf } from "./range";
import { NOTHING, placeOf, type Samples, type Window, within } from "./samples";

/** A path in a box of 20 by 12. */
export interface Sample {
  d: string;
  dash?: string;
  width?: number;
  opacity?: number;
  /** Filled lightly. */
  filled?: boolean;
  /** In the colour of losses. */
  bad?: boolean;
}

export const SIGNS = {
  threshold: { text: "slow start threshold (ssthresh) of a flow", sample: { d: "M0 6h20", dash: "2 3" } },
  capacity: { text: "capacity of the bottleneck", sample: { d: "M0 6h20", dash: "6 4" } },
  bdp: { text: "BDP, and BDP with a full buffer", sample: { d: "M0 6h20", dash: "6 4" } },
  buffer: { text: "buffer of the bottleneck", sample: { d: "M0 6h20", dash: "6 4" } },
  base: { text: "RTT without a queue", sample: { d: "M0 6h20", dash: "6 4" } },
  recorded: { text: "recorded capacity", sample: { d: "M0 12v-9h9v4h11v5z", width: 1, filled: true } },
  flow: { text: "a flow starts or stops", sample: { d: "M10 0v12", dash: "1 3" } },
  change: { text: "a scheduled change of the path", sample: { d: "M10 0v12", dash: "4 3" } },
  end: { text: "cancelled: the trace ends", sample: { d: "M10 0v12", dash: "4 3" } },
  drop: { text: "packets dropped by the queue", sample: { d: "M6 12v-7M10 12v-7M14 12v-7", bad: true } },
  excluded: { text: "left out of the measures (warmup)", sample: { d: "M2 6h16", width: 12, opacity: 0.2 } },
  outage: { text: "intervals with outages", sample: { d: "M2 6h16", width: 12, opacity: 0.2 } },
  unsimulated: {
    text: "left out of the measures, or not simulated",
    sample: { d: "M2 6h16", width: 12, opacity: 0.2 },
  },
} as const satisfies Record<string, { text: string; sample: Sample }>;

export type SignKind = keyof typeof SIGNS;

export function sampleOf(sign: SignKind): Sample {
  return SIGNS[sign].sample;
}

/** What one chart draws. */
export interface Drawn {
  lines: readonly Line[];
  marks: readonly Mark[];
  rug?: ((window: Window) => Float64Array) | undefined;
  shaded: readonly Window[];
  /** The sign of shaded times. */
  shade?: SignKind | undefined;
  log?: boolean;
  /** The text that explains values above the chart, if they are cut off. */
  clip?: string | undefined;
}

/** The signs that a chart shows in a window, in the order of the table above. */
export function signsIn(
  { lines, marks, rug, shaded, shade = "excluded", log = false, clip }: Drawn,
  window: Window,
): SignKind[] {
  const [from, to] = window;
  const found = new Set<SignKind>();
  const cut = lines.map(({ samples }) => within(samples(window), window));
  const range = rangeOf(cut, lines, { log, clip: clip !== undefined });
  lines.forEach(({ sign }, at) => {
    const { t, v } = cut[at] ?? NOTHING;
    // A line that has ended left of the window is still the neighbour of its edge.
    const isDrawn = t.length > 1 || (t[0] ?? Number.NaN) >= from;
    if (sign !== undefined && isDrawn && isInSight({ t, v }, range.window)) found.add(sign);
  });
  for (const { sign, t } of marks) if (t >= from && t <= to) found.add(sign);
  if ((rug?.(window).length ?? 0) > 0) found.add("drop");
  if (shaded.some(([begin, end]) => begin < to && end > from)) found.add(shade);
  return (Object.keys(SIGNS) as SignKind[]).filter((sign) => found.has(sign));
}

/** Whether a line has a value in the range of the y axis: a reference far above all values is not shown. */
export function isInSight({ v }: Samples, [least, greatest]: Window): boolean {
  return v.some((value) => value >= least && value <= greatest);
}

/** The times at which a count rises, in a window. */
export function risesOf({ t, v }: { t: Float64Array; v: Float64Array }, [from, to]: Window): Float64Array {
  const [first, last] = [Math.max(1, placeOf(t, from)), placeOf(t, to)];
  const found: number[] = [];
  for (let at = first; at < t.length && at <= last; at++) {
    const time = t[at] ?? 0;
    if (time <= to && (v[at] ?? 0) > (v[at - 1] ?? 0)) found.push(time);
  }
  return Float64Array.from(found);
}
