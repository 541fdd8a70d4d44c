/** Which of the selected runs are drawn: as many as there are colours, so that all can be distinguished. */
import { COLOURS } from "../../theme/palette";

export const MOST_RUNS = COLOURS;

export interface Drawn {
  /** The position of the first drawn run among all. */
  first: number;
  ids: readonly string[];
}

/** The page of runs with this position, or the last page. */
export function drawnOf(runs: readonly string[], from: number): Drawn {
  const last = Math.max(0, Math.ceil(runs.length / MOST_RUNS) - 1);
  const first = Math.min(Math.floor(from / MOST_RUNS), last) * MOST_RUNS;
  return { first, ids: runs.slice(first, first + MOST_RUNS) };
}
