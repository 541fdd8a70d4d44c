/** The order and the columns that this browser chose last: a list that is opened without any begins with them. */
import { VIEW, type View } from "../../data/runList";
import { readView, writeView } from "../../navigation/codecs";

const KEY = "longhaul.list";
const KEPT = { sort: VIEW.sort, columns: VIEW.columns };

export type Preferences = Pick<View, "sort" | "columns">;

/** The choice of this browser; the usual one if it has none, or keeps nothing. */
export function preferences(): Preferences {
  try {
    return readView(KEPT, window.localStorage.getItem(KEY) ?? "");
  } catch {
    return readView(KEPT, "");
  }
}

export function prefer(change: Partial<Preferences>): void {
  try {
    window.localStorage.setItem(KEY, writeView(KEPT, { ...preferences(), ...change }));
  } catch {
    // A browser that keeps nothing: the address has the choice.
  }
}
