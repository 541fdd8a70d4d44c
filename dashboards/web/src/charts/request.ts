/** The request for the series of a run: for its charts, and for the first script, which sends it before the code of charts has arrived. */
import type { Window } from "./samples";

/** The series of a run's page. */
export const SHOWN = ["cwnd", "ssthresh", "goodput", "rtt", "inflight", "retransmits", "queue", "drops"] as const;

/** Times and values as plain numbers. */
export const FLOATS = "application/octet-stream";

// The points of all lines of a page, and the least and most of one line. The service keeps this much of long runs at hand.
const ALL_POINTS = 24_000;
const POINTS: Window = [400, 2000];

/** The points per line for a number of lines. */
export function pointsFor(lines: number): number {
  return Math.max(POINTS[0], Math.min(POINTS[1], Math.floor(ALL_POINTS / Math.max(1, lines))));
}

/** The path of several series of a run, of a window or of the whole run. */
export function seriesPath(run: string, measures: readonly string[], points: number, window: Window | null): string {
  const query = new URLSearchParams(measures.map((measure) => ["measure", measure]));
  query.set("points", String(points));
  if (window !== null) {
    query.set("from", String(window[0]));
    query.set("to", String(window[1]));
  }
  return `/runs/${run}/timelines?${query}`;
}
