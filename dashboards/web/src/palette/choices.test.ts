import { expect, test } from "vitest";
import { type Choice, groupsFor, type Offered } from "./choices";

const one = (name: string, words = ""): Choice => ({ key: name, name, note: "", words, link: `#/${name}` });
const OFFERED: Offered = {
  recent: [one("compare")],
  actions: [one("zoom in")],
  places: [one("runs", "history"), one("compare"), one("lab")],
  runs: [one("bbr, 20 ms")],
  experiments: [],
  shipped: Array.from({ length: 20 }, (_, at) => one(`demo-${at}`)),
  figures: [one("agilesd fig4")],
  controls: [one("bbr")],
};

function shown(sought: string): Record<string, string[]> {
  return Object.fromEntries(groupsFor(sought, OFFERED).map(({ name, options }) => [name, options.map((o) => o.name)]));
}

test("without a text it offers recent choices, pages and actions, each once", () => {
  expect(shown("")).toEqual({ Recent: ["compare"], Pages: ["runs", "lab"], "Actions of this view": ["zoom in"] });
});

test("a text finds by name and by other words, and what the service found stays", () => {
  expect(shown("history")).toEqual({ Pages: ["runs"], Runs: ["bbr, 20 ms"] });
  expect(shown("BBR")).toEqual({ Runs: ["bbr, 20 ms"], "Congestion controls": ["bbr"] });
  expect(shown("compare")).toMatchObject({ Recent: ["compare"] });
  expect(shown("demo")["Shipped experiments"]).toHaveLength(6);
});
