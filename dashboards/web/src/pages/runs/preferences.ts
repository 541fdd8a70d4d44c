/** The order and the columns that this browser chose last: a list that is opened without any begins with them. */
import { VIEW, type View } from "../../data/runList";
import { keep, readKept } from "../../kept";
import { readView, writeView } from "../../navigation/codecs";

const KEY = "longhaul.list";
const KEPT = { sort: VIEW.sort, columns: VIEW.columns };

export type Preferences = Pick<View, "sort" | "columns">;

/** The choice of this browser; the usual one if it has none, or keeps nothing. */
export function preferences(): Preferences {
  return readView(KEPT, readKept(KEY) ?? "");
}

export function prefer(change: Partial<Preferences>): void {
  keep(KEY, writeView(KEPT, { ...preferences(), ...change }));
}
