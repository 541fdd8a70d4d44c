/** The views that this browser keeps: a name, and the address with filters, order and columns. Sending the address shares a view. */
import { VIEW, type View } from "../../data/runList";
import { keep, readKept } from "../../kept";
import { writeView } from "../../navigation/codecs";
import { Store } from "../../store";

export interface SavedView {
  name: string;
  /** The query of its address. */
  query: string;
}

const KEY = "longhaul.views";
const LONGEST = 60;
export const MOST_VIEWS = 50;

export const savedViews = new Store<readonly SavedView[]>(read());

/** The query of a view without its selection. */
export function queryOf(view: View): string {
  return writeView(VIEW, { ...view, picked: [] });
}

/** The views with another one, in the order of their names; one of the same name is replaced. */
export function withView(known: readonly SavedView[], name: string, query: string): readonly SavedView[] {
  const mine = { name: name.trim().slice(0, LONGEST), query };
  if (mine.name === "") return known;
  const others = known.filter((one) => one.name !== mine.name).slice(0, MOST_VIEWS - 1);
  return [...others, mine].sort((one, other) => one.name.localeCompare(other.name, "en", { numeric: true }));
}

export function saveView(name: string, query: string): void {
  set(withView(read(), name, query));
}

export function removeView(name: string): void {
  set(read().filter((one) => one.name !== name));
}

function set(views: readonly SavedView[]): void {
  savedViews.set(views);
  keep(KEY, JSON.stringify(views));
}

/** What another tab has saved meanwhile, too; a text that is none of this page's is no view. */
function read(): readonly SavedView[] {
  try {
    return viewsIn(readKept(KEY));
  } catch {
    return [];
  }
}

export function viewsIn(text: string | null): readonly SavedView[] {
  const found: unknown = text === null ? [] : JSON.parse(text);
  if (!Array.isArray(found)) return [];
  return found.filter((one): one is SavedView => typeof one?.name === "string" && typeof one?.query === "string");
}
