/** The pages, one row each. A page's code is loaded when the page is first shown. */
import type { ComponentType } from "react";
import type { Route } from "../navigation/route";
import { type Load, lazily, once } from "./loading";
import type { PageProps } from "./props";

export interface PageEntry {
  /** The first word of its address. */
  word: string;
  name: string;
  /** The key after `g`. */
  key: string;
  Page: ComponentType<PageProps>;
  /** Fetch the page's code. */
  load: Load<PageProps>;
}

function entry(word: string, name: string, key: string, fetched: Load<PageProps>): PageEntry {
  const load = once(fetched);
  return { word, name, key, Page: lazily(load), load };
}

/** In the order of the header. */
export const PAGES: readonly PageEntry[] = [
  entry("launch", "Launch", "l", () => import("./launch")),
  entry("runs", "Runs", "r", () => import("./runs")),
  entry("compare", "Compare", "c", () => import("./compare")),
  entry("predict", "Predict", "t", () => import("./predict")),
  entry("papers", "Papers", "p", () => import("./papers")),
  entry("lab", "Lab", "b", () => import("./lab")),
];

/** `#/`: the link of the name in the header. */
const START = entry("", "Start", "h", () => import("./start"));
const RUN = entry("runs", "Run", "", () => import("./run"));
const EXPERIMENT: PageEntry = { ...RUN, word: "experiments", name: "Experiment" };
/** `#/experiments/<id>/explore` gets [id]. */
const EXPLORE = entry("explore", "Explore", "", () => import("./explore"));

/** `#/runs/<id>` and `#/experiments/<id>` share a page, which gets ["runs", id] or ["experiments", id]. */
export function pageAt({ path }: Route): { entry: PageEntry; path: readonly string[] } | null {
  const [word, ...rest] = path;
  if (word === undefined) return { entry: START, path: [] };
  if (word === EXPERIMENT.word && rest.length === 2 && rest[1] === EXPLORE.word) return { entry: EXPLORE, path: rest };
  if (rest.length > 0 && word === RUN.word) return { entry: RUN, path };
  if (rest.length > 0 && word === EXPERIMENT.word) return { entry: EXPERIMENT, path };
  const found = PAGES.find((one) => one.word === word);
  return found ? { entry: found, path: rest } : null;
}
