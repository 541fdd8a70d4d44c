import { expect, test } from "vitest";
import { VIEW } from "../../data/runList";
import { readView } from "../../navigation/codecs";
import { MOST_VIEWS, queryOf, type SavedView, viewsIn, withView } from "./views";

test("a view is its filters, order and columns, and not its selection", () => {
  const query = "q=rtt%3D300ms&cc=bbr&sort=-goodput&columns=goodput,point.path.rtt";
  expect(queryOf(readView(VIEW, `${query}&picked=a,b`))).toBe(query);
});

test("views are in the order of their names, each name once, and not without end", () => {
  const some = withView(withView([], "lossy 10", "a"), "lossy 9", "b");
  expect(some.map(({ name }) => name)).toEqual(["lossy 9", "lossy 10"]);
  expect(withView(some, " lossy 9 ", "c")).toEqual([
    { name: "lossy 9", query: "c" },
    { name: "lossy 10", query: "a" },
  ]);
  expect(withView(some, "  ", "c")).toBe(some);
  let many: readonly SavedView[] = [];
  for (let at = 0; at < 60; at++) many = withView(many, `view ${at}`, "");
  expect(many.length).toBe(MOST_VIEWS);
});

test("what another program wrote there is no view", () => {
  expect(viewsIn(null)).toEqual([]);
  expect(viewsIn("{}")).toEqual([]);
  expect(viewsIn('[1, null, {"name": "a"}, {"name": "a", "query": "b"}]')).toEqual([{ name: "a", query: "b" }]);
});
