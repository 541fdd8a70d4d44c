/** The shown part of a recording as lines: each value holds for an interval. */
import type { Samples, Window } from "../charts/samples";
import type { Shown } from "./queries";

type Part = NonNullable<Shown["shown"]>;

/** The values as steps, each times a factor. */
export function stepsOf(part: Part, values: readonly number[], factor = 1): Samples {
  const ends = values.flatMap((_, at) => [beginOf(part, at), Math.min(beginOf(part, at + 1), part.to_s)]);
  return { t: Float64Array.from(ends), v: Float64Array.from(values.flatMap((one) => [one * factor, one * factor])) };
}

/** The intervals within which there are outages, joined. */
export function outagesOf(part: Part): Window[] {
  const found: [number, number][] = [];
  for (const [at, share] of (part.outage ?? []).entries()) {
    if (share === 0) continue;
    const [from, to] = [beginOf(part, at), Math.min(beginOf(part, at + 1), part.to_s)];
    const last = found.at(-1);
    if (last !== undefined && last[1] >= from) last[1] = to;
    else found.push([from, to]);
  }
  return found;
}

function beginOf(part: Part, at: number): number {
  return part.from_s + at * part.every_s;
}
