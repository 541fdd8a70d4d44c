import { expect, test } from "vitest";
import { type Location, parseText, rangeOf, type Value, valueAt, without, withValue } from "./yamlText";

const TEXT = `# Two flows on a slow path.
experiment: two
path:
  bandwidth: 10 Mbit/s   # the line
  rtt: 40 ms

flows:
  - {name: app, cc: cubic}   # ours
  - name: bic
    cc: bic
    start: 5 s
duration: 20 s
`;

test.each([
  [["path", "bandwidth"], "622 Mbit/s", "bandwidth: 10 Mbit/s   #", "bandwidth: 622 Mbit/s   #"],
  [["flows", 0, "cc"], "reno", "cc: cubic}", "cc: reno}"],
  [["flows", 1, "start"], "7.5 s", "start: 5 s", "start: 7.5 s"],
  [["flows", 0, "name"], "a, b", "name: app", 'name: "a, b"'],
  [["experiment"], "6.12", "experiment: two", 'experiment: "6.12"'],
] satisfies [
  Location,
  Value,
  string,
  string,
][])("a value is exchanged in its place: %s", (at, value, before, after) => {
  expect(TEXT).toContain(before);
  expect(withValue(TEXT, at, value)).toBe(TEXT.replace(before, after));
});

test("a new field is inserted in order, and comments stay", () => {
  const text = withValue(TEXT, ["path", "buffer"], "1 BDP", ["bandwidth", "rtt", "buffer", "loss"]);
  expect(valueAt(parseText(text).data ?? undefined, ["path", "buffer"])).toBe("1 BDP");
  expect(text).toContain("# Two flows on a slow path.");
  expect(text).toContain("# the line");
  expect(text).toContain("{name: app, cc: cubic}");
  expect(withValue(text, ["path", "one"], "x", ["one", "bandwidth"])).toMatch(/path:\n {2}one: x\n {2}bandwidth/);
});

test("a flow is added as a line, and removed again", () => {
  const text = withValue(TEXT, ["flows", 2], { name: "udp", udp: "1 Mbit/s" });
  expect(text).toContain("  - {name: udp, udp: 1 Mbit/s}\n");
  expect(parseText(without(text, ["flows", 2])).data).toEqual(parseText(TEXT).data);
});

test("mappings that become empty are removed", () => {
  expect(without("experiment: a\nflows: [{name: a, params: {beta: 1}}]\n", ["flows", 0, "params", "beta"])).toBe(
    "experiment: a\nflows: [{name: a}]\n",
  );
  expect(without("a: 1\nsweep:\n  path.rtt: [1 ms]\n", ["sweep", "path.rtt"])).toBe("a: 1\n");
});

test("an empty text and a field without a value accept a value", () => {
  expect(withValue("", ["path", "rtt"], "40 ms")).toBe("path:\n  rtt: 40 ms\n");
  expect(withValue("path:\nduration: 1 s\n", ["path", "rtt"], "40 ms")).toBe("path:\n  rtt: 40 ms\nduration: 1 s\n");
  expect(withValue("path: {rtt: }\n", ["path", "rtt"], "40 ms")).toBe("path: {rtt: 40 ms}\n");
});

test("a number has the type that the service reads, and keeps its spelling", () => {
  const { data } = parseText("a: 1e-5\nb: 1.0e-5\nc: 0.00001\nd: 100\ne: 1e3\n");
  expect(data).toEqual({ a: "1e-5", b: 1e-5, c: 1e-5, d: 100, e: "1e3" });
  const text = withValue("path: {loss: 2 %}\nsweep: {path.loss: [1 %]}\n", ["path", "loss"], "1e-5");
  expect(text).toContain("{loss: 1e-5}");
  expect(withValue(text, ["sweep", "path.loss"], [1e-6, "1e-5", 0.5])).toContain("path.loss: [1e-6, 1e-5, 0.5]");
});

test("a small share is written as 1e-5", () => {
  const text = withValue("path: {rtt: 1 ms}\n", ["path", "loss"], 1e-5);
  expect(text).toBe("path: {rtt: 1 ms, loss: 1e-5}\n");
  expect(withValue(text, ["path", "loss"], 2.5e-6)).toBe("path: {rtt: 1 ms, loss: 2.5e-6}\n");
});

test("invalid text is not changed", () => {
  const text = "path: {rtt: 40 ms\nduration: 1 s\n";
  const parsed = parseText(text);
  expect(parsed.data).toBeNull();
  expect(parsed.faults.length).toBeGreaterThan(0);
  expect(withValue(text, ["duration"], "2 s")).toBe(text);
  expect(parseText("- a\n").faults[0]?.message).toContain("is a mapping of fields");
  expect(parseText("a: &x 1\nb: *x\n").data).toBeNull();
});

test.each([
  [["path", "rtt"], "40 ms"],
  [["flows", 0, "cc"], "cubic"],
  [["flows", 1], "name: bic"],
  [["flows", 1, "stop"], "name: bic"],
  [["path", "loss"], "path"],
  [["sweep"], ""],
] satisfies [Location, string][])("a place in the text: %s", (at, found) => {
  const { from, to } = rangeOf(parseText(TEXT).doc, at);
  expect(TEXT.slice(from, to)).toBe(found);
});

test("keys that YAML 1.1 reads as booleans are words", () => {
  expect(parseText("on_off: {on: 1 s, off: 2 s}\n").data).toEqual({ on_off: { on: "1 s", off: "2 s" } });
});
