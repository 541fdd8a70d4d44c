import { expect, test } from "vitest";
import type { Names } from "./catalogue";
import { controlNames } from "./controls";

const NAMES: Names = {
  experiments: [],
  topologies: [],
  modules: [{ cc: "cubic", also: "", about: "", parameters: [] }],
  measures: [],
  presets: [],
};

test("the congestion controls of an experiment include those that its modules name", () => {
  expect(controlNames(NAMES, null)).toEqual(["cubic"]);
  expect(controlNames(NAMES, { modules: ["sha256:0f", { from: "sha256:0f", as: "mine" }, 7] })).toEqual([
    "cubic",
    "mine",
  ]);
});
