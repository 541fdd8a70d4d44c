/** The pages and the parts of the lab, with other words by which people search for them. */
import { listOf } from "../data/runList";
import { linkTo } from "../navigation/hash";
import { PAGES } from "../pages/catalogue";
import { LAB_PARTS } from "../pages/lab/parts";
import type { Choice } from "./choices";

const WORDS: Readonly<Record<string, string>> = {
  start: "home dashboard overview latest",
  launch: "new create experiment submit simulate editor yaml preset",
  runs: "list results history jobs",
  compare: "differences diff overlay versus heat map fairness distribution",
  predict: "transfer time estimate forecast download",
  papers: "reproductions publications literature packs claims",
  lab: "operations administration",
  queue: "jobs waiting workers progress priority",
  hosts: "machines servers leases testbed",
  modules: "congestion controls algorithms kernels tcp source code upload",
  recordings: "traces cellular lte satellite mahimahi links upload",
  baselines: "ci gates branches regression compare",
  service: "version health status disk space api openapi documentation metrics grafana",
  notifications: "notify subscriptions alerts messages e-mail mail webhook browser",
  shares: "shared links public",
  tokens: "users accounts access api keys login permissions",
  audit: "log history changes",
};

/** The places that a user of this level may read. */
export function placesFor(allowed: (part: (typeof LAB_PARTS)[number]) => boolean): Choice[] {
  const pages = [{ word: "", name: "Start", key: "h" }, ...PAGES].map(({ word, name, key }) => ({
    key: `page ${word}`,
    name,
    note: "",
    words: WORDS[word || "start"] ?? "",
    keys: `g ${key}`,
    link: linkTo(word ? [word] : []),
  }));
  const parts = LAB_PARTS.filter(allowed).map(({ word, name }) => ({
    key: `lab ${word}`,
    name,
    note: "Lab",
    words: WORDS[word] ?? "",
    link: linkTo(["lab", word]),
  }));
  return [
    ...pages,
    { key: "list experiments", name: "Experiments", note: "Runs", link: listOf({ what: "experiments" }) },
    { key: "list failed", name: "Failed runs", note: "Runs", words: "errors", link: listOf({ status: "failed" }) },
    ...parts,
  ];
}
