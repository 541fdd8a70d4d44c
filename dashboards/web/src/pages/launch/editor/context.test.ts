import { expect, test } from "vitest";
import { contextAt } from "./context";

const at = (marked: string) => contextAt(marked.replace("|", ""), marked.indexOf("|"));

test.each([
  ["|", [], null, ""],
  ["exper|", [], null, "exper"],
  ["topology: dumb|", [], "topology", "dumb"],
  ["path:\n  |", ["path"], null, ""],
  ["path:\n  bandwidth: 10 M|", ["path"], "bandwidth", "10 M"],
  ["path:\n  rtt: 1 ms\n|", [], null, ""],
  ["path:\n  one_way:\n    forward: 1 ms\n  bu|", ["path"], null, "bu"],
  ["path: {rtt: 1 ms, que|", ["path"], null, "que"],
  ["path: {rtt: 1 ms, queue: |", ["path"], "queue", ""],
  ["path: {burst: {p: 1 %, |", ["path", "burst"], null, ""],
  ["flows:\n  - {name: a, cc: cubic}\n  - {name: b, cc: |", ["flows", 1], "cc", ""],
  ["flows:\n  - name: a\n    cc: cubic\n  - name: b\n    |", ["flows", 1], null, ""],
  ["flows:\n- name: a\n  cc: |", ["flows", 0], "cc", ""],
  ["flows:\n- name: a\n- na|", ["flows", 1], null, "na"],
  ["flows:\n- name: a\nduration: |", [], "duration", ""],
  ["flows:\n  - name: app\n    params: {|", ["flows", 0, "params"], null, ""],
  ["flows:\n  - {name: a,\n     cc: |", ["flows", 0], "cc", ""],
  ["flows: [{name: a}, {name: b, cc: r|", ["flows", 1], "cc", "r"],
  ["sweep:\n  path.rtt: [1 ms, 2|", ["sweep", "path.rtt", 1], "", "2"],
  ["sweep:\n  flows.app.cc: [a]\n  pa|", ["sweep"], null, "pa"],
  ["schedule:\n  - at: 5 s\n    path: {|", ["schedule", 0, "path"], null, ""],
  ["about: a, b: c # no\nexpect:\n  - {measure: |", ["expect", 0], "measure", ""],
  ["# path:\n\nflows:\n\n  # one\n  - |", ["flows", 0], null, ""],
] as const)("%s", (text, path, key, word) => {
  expect(at(text)).toEqual({ path, key, word });
});
