import { expect, test } from "vitest";
import type { Names } from "./catalogue";
import { controlNames } from "./controls";

const NAMES: Names = {
  topologies: [],
  modules: [{ cc: "cubic", also: "", about: "", parameters: [] }],
  measures: [],
  sources: [{ reference: "sha256:1f", controls: ["bbr", "reno"] }],
};

test("the congestion controls of an experiment include those that its modules name", () => {
  expect(controlNames(NAMES, null)).toEqual(["cubic"]);
  expect(controlNames(NAMES, { modules: ["sha256:0f", { from: "sha256:0f", as: "mine" }, 7] })).toEqual([
    "cubic",
    "mine",
  ]);
  expect(controlNames(NAMES, { modules: [{ from: "sha256:0f", as: { bbr: "first", reno: "second" } }] })).toEqual([
    "cubic",
    "first",
    "second",
  ]);
  expect(controlNames(NAMES, { modules: ["sha256:1f"] })).toEqual(["cubic", "bbr", "reno"]);
  expect(controlNames(NAMES, { modules: [{ from: "sha256:1f", as: { bbr: "mine" } }] })).toEqual([
    "cubic",
    "mine",
    "reno",
  ]);
});
