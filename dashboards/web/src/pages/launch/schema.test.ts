import { expect, test } from "vitest";
import { kernelOf, type Schema } from "./schema";

const SCHEMA: Schema = { properties: { kernel: { enum: ["7.0", "6.12"] } } };

test("which kernels there are, the service says", () => {
  expect(kernelOf(SCHEMA, "7.0")).toBe("7.0");
  expect(kernelOf(SCHEMA, "6.1")).toBeNull();
  expect(kernelOf(SCHEMA, "")).toBeNull();
  expect(kernelOf(null, "6.12")).toBeNull();
});
