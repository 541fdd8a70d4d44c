/** The things that the palette offers, and the group of each. */
import type { FinderGroup } from "../parts/Finder";
import { matching } from "../parts/finding";

export interface Choice {
  /** The same at each visit: `page runs`, `run 5d41402abc4b2a769e07`. */
  key: string;
  name: string;
  note: string;
  /** Other words by which people search for it. */
  words?: string;
  /** The keys that do the same. */
  keys?: string;
  /** The address that it opens; an action of the current view has none. */
  link?: string;
  act?: () => void;
}

export interface Offered {
  recent: readonly Choice[];
  actions: readonly Choice[];
  places: readonly Choice[];
  runs: readonly Choice[];
  experiments: readonly Choice[];
  shipped: readonly Choice[];
  figures: readonly Choice[];
  controls: readonly Choice[];
}

const MOST = 6;

/** The choices for a text; without one, those that need no search. What was chosen recently comes first, and only once. */
export function groupsFor(sought: string, offered: Offered): FinderGroup<Choice>[] {
  const asked = sought.trim() !== "";
  const found = (choices: readonly Choice[]): readonly Choice[] =>
    matching(choices, sought, ({ name, note, words = "" }) => ({ name, text: `${note} ${words}` }));
  const recent = found(offered.recent);
  const known = new Set(recent.map((one) => one.key));
  const group = (name: string, choices: readonly Choice[], most = MOST): FinderGroup<Choice> => ({
    name,
    options: choices.filter((one) => !known.has(one.key)).slice(0, most),
  });
  const groups = [
    { name: "Recent", options: recent },
    group("Pages", found(offered.places), asked ? MOST : offered.places.length),
    group("Actions of this view", found(offered.actions), asked ? MOST : offered.actions.length),
    // The service has searched them.
    ...(asked ? [group("Runs", offered.runs), group("Experiments", offered.experiments)] : []),
    ...(asked ? [group("Congestion controls", found(offered.controls))] : []),
    ...(asked ? [group("Shipped experiments", found(offered.shipped))] : []),
    ...(asked ? [group("Figures of papers", found(offered.figures))] : []),
  ];
  return groups.filter(({ options }) => options.length > 0);
}
