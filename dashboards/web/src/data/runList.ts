/** The filters of the list, as the address contains them, and the query that they make. */
import type { Schemas } from "../api/client";
import { flag, list, oneOf, text, type ViewOf, writeView } from "../navigation/codecs";
import { linkTo } from "../navigation/hash";
import type { Status } from "../parts/Badge";

export const STATUSES: readonly Status[] = ["queued", "running", "done", "missed", "failed", "cancelled"];

/** Whether it is queued or running. */
export function isLive({ status }: { status: Status }): boolean {
  return status === "queued" || status === "running";
}

export type Backend = Schemas["AskedFor"]["backend"];

export const VIEW = {
  what: oneOf(["runs", "experiments"], "runs"),
  q: text(),
  // The service refuses unknown values and lists the known ones.
  status: text(),
  cc: text(),
  backend: text(),
  owner: text(),
  rtt: text(),
  bandwidth: text(),
  topology: text(),
  from: text(),
  to: text(),
  pinned: flag(),
  // Runs of an experiment: by its name, or by its id.
  name: text(),
  of: text(),
  // The order is one of the service's: `newest`, `-goodput`, `point.path.rtt`.
  sort: text("newest"),
  // The columns of runs; none for the usual ones.
  columns: list(),
  picked: list(),
  // Runs by experiment, and the experiments whose runs are shown.
  group: flag(),
  opened: list(),
};

export type View = ViewOf<typeof VIEW>;
export type RunRow = Schemas["RunRow"];
export type ExperimentRow = Schemas["ExperimentRow"];

export const PAGE = 60;
/** The limit of a selection: its ids then take 21 kB of the address. */
export const MOST_SELECTED = 1000;

/** Filters that "More" opens. */
export const SELDOM = ["backend", "owner", "rtt", "bandwidth", "topology", "from", "to"] as const;
export const NOTHING: Partial<View> = {
  q: "", status: "", cc: "", backend: "", owner: "", rtt: "", bandwidth: "", topology: "", from: "", to: "",
  pinned: false, name: "", of: "",
}; // biome-ignore format: one look

/** A change of a filter clears the selection, so that no selected row is out of view. */
export function narrowed(change: Partial<View>): Partial<View> {
  const other = Object.keys(change).some((name) => name in NOTHING || name === "what");
  return other && !("picked" in change) ? { ...change, picked: [] } : change;
}

export function isFiltered(view: View): boolean {
  return Object.entries(NOTHING).some(([name, empty]) => view[name as keyof View] !== empty);
}

/** Parameters that both lists share. */
function common(view: View) {
  return {
    limit: PAGE,
    ...(view.q.trim() && { text: view.q.trim() }),
    ...(view.status && { status: view.status as Status }),
    ...(view.cc && { cc: view.cc.split(" ").filter(Boolean).slice(0, 5) }),
    ...(view.backend && { backend: view.backend as Backend }),
    ...(view.owner && { owner: view.owner }),
    ...(view.from && { from: view.from }),
    ...(view.to && { to: view.to }),
  };
}

/** The orders that groups of runs have and runs do not. */
export const ORDERS_OF_GROUPS: readonly string[] = ["runs", "-runs"];

export function runsQuery(view: View) {
  return {
    ...common(view),
    sort: ORDERS_OF_GROUPS.includes(view.sort) ? "newest" : view.sort,
    ...(view.rtt && { rtt: view.rtt.trim() }),
    ...(view.bandwidth && { bandwidth: view.bandwidth.trim() }),
    ...(view.topology && { topology: view.topology.trim() }),
    ...(view.pinned && { pinned: true }),
    ...(view.name && { experiment: view.name }),
    ...(view.of && { experiment_id: view.of }),
  };
}

export function experimentsQuery(view: View) {
  const sort = view.sort === "oldest" ? ("oldest" as const) : ("newest" as const);
  return { ...common(view), sort, ...(view.name && { name: view.name }) };
}

/** The list with these filters and no others, for `href`. */
export function listOf(wanted: Partial<View>): string {
  return linkTo(["runs"], writeView(VIEW, wanted));
}

/** `flows.app.params.rate` -> `app rate`, `path.rtt` -> `rtt` */
export function shortField(field: string): string {
  return field.replace(/^(path|flows|links)\./, "").replace(/\.(params\.)?/g, " ");
}
