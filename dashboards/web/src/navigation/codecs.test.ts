import { expect, test } from "vitest";
import { flag, list, oneOf, place, range, readView, text, writeView } from "./codecs";
import { linkTo, parseRoute } from "./hash";

const VIEW = {
  flows: list(),
  log: flag(),
  lit: flag(true),
  zoom: range(),
  from: place(),
  measure: text("cwnd"),
  theme: oneOf(["one", "two"], "one"),
};
const INITIAL = { flows: [], log: false, lit: true, zoom: null, from: 0, measure: "cwnd", theme: "one" };

test("defaults are not in the address", () => {
  expect(readView(VIEW, "")).toEqual(INITIAL);
  expect(writeView(VIEW, INITIAL as never)).toBe("");
});

test("values with any characters survive writing and reading", () => {
  const shown = {
    flows: ["app,1", "b c", "ü&=?#", "a/b@c"],
    log: true,
    lit: false,
    zoom: [0.25, 30] as const,
    from: 16,
    measure: "a+b c%20",
    theme: "two" as const,
  };
  const query = writeView(VIEW, shown);
  expect(readView(VIEW, query)).toEqual(shown);
  expect(parseRoute(linkTo(["runs", "a/b"], query))).toEqual({ path: ["runs", "a/b"], query });
});

test("the address stays legible", () => {
  expect(linkTo(["runs", "5d41"], writeView(VIEW, { flows: ["app", "bic"], zoom: [1, 2.5] }))).toBe(
    "#/runs/5d41?flows=app,bic&zoom=1~2.5",
  );
});

test("a change keeps other keys, including those of other views", () => {
  expect(writeView(VIEW, { log: true }, "measure=rtt&other=x")).toBe("measure=rtt&other=x&log=1");
  expect(writeView(VIEW, { measure: "cwnd" }, "measure=rtt&other=x")).toBe("other=x");
});

test.each([
  "zoom=3~1&theme=no",
  "zoom=1",
  "zoom=1~Infinity",
  "zoom=1~2~3",
  "from=-8",
  "from=8.5",
])("what cannot be read is at its default: %s", (query) => {
  expect(readView(VIEW, query)).toEqual(INITIAL);
});
