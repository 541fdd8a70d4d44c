import { expect, test } from "vitest";
import { fieldsOf, kernelOf, type Schema, singleFieldsOf, spare, sweepable } from "./schema";

const SCHEMA: Schema = {
  properties: {
    kernel: { pattern: "^(7\\.0|6\\.12|[a-z][a-z0-9._-]{0,39})$" },
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

test("the schema has a pattern of kernels' names", () => {
  expect(kernelOf(SCHEMA, "7.0")).toBe("7.0");
  expect(kernelOf(SCHEMA, "mine")).toBe("mine");
  expect(kernelOf(SCHEMA, "6.1")).toBeNull();
  expect(kernelOf(SCHEMA, "")).toBeNull();
  expect(kernelOf(null, "6.12")).toBeNull();
});

test("a list of fields has no objects", () => {
  expect(fieldsOf(SCHEMA, ["path"])).toEqual(["rtt", "burst"]);
  expect(singleFieldsOf(SCHEMA, ["path"])).toEqual(["rtt"]);
});

test("a sweep can vary every field with a single value, at any depth", () => {
  expect(sweepable(SCHEMA, ["app"]).slice(0, 5)).toEqual([
    "path.rtt",
    "path.burst.p",
    "path.burst.r",
    "flows.app.cc",
    "flows.app.on_off.rate",
  ]);
});

const WHOLE: Schema = {
  properties: {
    experiment: {},
    about: { default: "" },
    seed: { default: 1 },
    path: { properties: { rtt: {}, ecn: { default: false } } },
    flows: {
      items: { properties: { name: {}, cc: {}, start: { default: "0 s" }, params: { additionalProperties: {} } } },
    },
    sweep: { additionalProperties: { items: {} } },
    expect: { items: {} },
  },
};

test("the text of a launched experiment has no defaults", () => {
  const launched = {
    experiment: "one",
    about: "",
    seed: 1,
    path: { rtt: "40 ms", ecn: false, burst: null },
    flows: [
      { name: "a", cc: "cubic", start: "0 s", params: {} },
      { name: "b", cc: "bbr", start: "1 s", params: { kp: 0 } },
    ],
    sweep: { "path.rtt": ["1 ms", "2 ms"] },
    expect: [],
  };
  expect(spare(launched, WHOLE)).toEqual({
    experiment: "one",
    path: { rtt: "40 ms" },
    flows: [
      { name: "a", cc: "cubic" },
      { name: "b", cc: "bbr", start: "1 s", params: { kp: 0 } },
    ],
    sweep: { "path.rtt": ["1 ms", "2 ms"] },
  });
});
