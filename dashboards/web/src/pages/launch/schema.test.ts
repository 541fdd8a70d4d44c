import { expect, test } from "vitest";
import { fieldsOf, kernelOf, type Schema, singleFieldsOf, sweepable } from "./schema";

const SCHEMA: Schema = {
  properties: {
    kernel: { enum: ["7.0", "6.12"] },
    path: { $ref: "#/$defs/Path" },
    flows: {
      items: { properties: { name: {}, cc: {}, on_off: { anyOf: [{ $ref: "#/$defs/OnOff" }, { type: "null" }] } } },
    },
  },
  $defs: {
    Path: { properties: { rtt: {}, burst: { anyOf: [{ $ref: "#/$defs/Burst" }, { type: "null" }] } } },
    Burst: { properties: { p: {}, r: {} } },
    OnOff: { properties: { rate: {} } },
  },
};

test("which kernels there are, the service says", () => {
  expect(kernelOf(SCHEMA, "7.0")).toBe("7.0");
  expect(kernelOf(SCHEMA, "6.1")).toBeNull();
  expect(kernelOf(SCHEMA, "")).toBeNull();
  expect(kernelOf(null, "6.12")).toBeNull();
});

test("a list of fields has none that hold fields", () => {
  expect(fieldsOf(SCHEMA, ["path"])).toEqual(["rtt", "burst"]);
  expect(singleFieldsOf(SCHEMA, ["path"])).toEqual(["rtt"]);
});

test("what a sweep can vary has a value of its own, however deep it is", () => {
  expect(sweepable(SCHEMA, ["app"]).slice(0, 5)).toEqual([
    "path.rtt",
    "path.burst.p",
    "path.burst.r",
    "flows.app.cc",
    "flows.app.on_off.rate",
  ]);
});
