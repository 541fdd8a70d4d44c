/** The selected rows, as the address contains them: ids, or all that match the filter but some.
 *
 *     picked=5d41402abc4b2a769e07,7c21...
 *     picked=all,2031-05-17T09:00:00.001Z,5d41...     created before this time, without these
 */
import { MOST_SELECTED } from "../../data/runList";

export interface Picks {
  /** Whether all are selected but `ids`, and not `ids` alone. */
  all: boolean;
  /** Rows that match from this time on are not selected. */
  until: string;
  ids: ReadonlySet<string>;
}

const ALL = "all";

export function readPicks(written: readonly string[]): Picks {
  const all = written[0] === ALL;
  return { all, until: all ? (written[1] ?? "") : "", ids: new Set(all ? written.slice(2) : written) };
}

export function allUntil(until: string): readonly string[] {
  return [ALL, until];
}

/** How many of `total` matching rows are selected. */
export function countOf({ all, ids }: Picks, total: number): number {
  return all ? Math.max(0, total - ids.size) : ids.size;
}

export function isPicked({ all, ids }: Picks, id: string): boolean {
  return ids.has(id) !== all;
}

/** The selection after a press on a row. */
export function toggled(written: readonly string[], id: string): readonly string[] {
  const { all, until, ids } = readPicks(written);
  const next = ids.has(id) ? [...ids].filter((one) => one !== id) : [...ids, id];
  return all ? [...allUntil(until), ...next.slice(-MOST_SELECTED)] : next.slice(-MOST_SELECTED);
}
