/** Which of the runs that were picked are drawn: a colour each, so that every one can be told from the others. */
import { COLOURS } from "../../theme/palette";

export const MOST_RUNS = COLOURS;

export interface Drawn {
  /** The place of the first of them among all. */
  first: number;
  ids: readonly string[];
}

/** A page of them: the one with this place, or the last where there are no longer so many. */
export function drawnOf(runs: readonly string[], from: number): Drawn {
  const last = Math.max(0, Math.ceil(runs.length / MOST_RUNS) - 1);
  const first = Math.min(Math.floor(from / MOST_RUNS), last) * MOST_RUNS;
  return { first, ids: runs.slice(first, first + MOST_RUNS) };
}
