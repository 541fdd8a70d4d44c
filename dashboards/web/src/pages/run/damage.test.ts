import { expect, test, vi } from "vitest";
import { Problem } from "../../api/problem";
import type { Run } from "../../data/runDocument";
import { badFiles, isDamage, repairOf, sourceOf, traceOf } from "./damage";

vi.mock("../../api/client", () => ({ api: {}, answered: () => Promise.reject(new Error("no request expected")) }));

const RUN = "0123456789abcdef0123";
const run = (document: unknown): Run => ({ id: RUN, document }) as Run;

test("a page shows the files of its run, or those of the original of an identical rerun", () => {
  expect(traceOf(run(null))).toBe(RUN);
  expect(traceOf(run({ rerun: { run: "f".repeat(20), identical: true, differences: [] } }))).toBe("f".repeat(20));
  expect(traceOf(run({ rerun: { run: "f".repeat(20), identical: false, differences: ["its length"] } }))).toBe(RUN);
});

test("damage is recognised by the kind of a problem", () => {
  const problem = (type: string) => Problem.of(new Response(null, { status: 500 }), { type, title: "A trace" });
  expect(isDamage(problem("/problems/run-damaged"))).toBe(true);
  expect(isDamage(problem("/problems/trace-error"))).toBe(false);
  expect([null, undefined, new Error("run-damaged")].map(isDamage)).toEqual([false, false, false]);
});

test("the repair command requires an intact manifest", () => {
  const bad = badFiles({
    files: { "manifest.json": "whole", "acks.parquet": "damaged", "drops.parquet": "missing", "log.txt": "unsealed" },
  });
  expect(bad).toEqual([
    ["acks.parquet", "damaged"],
    ["drops.parquet", "missing"],
  ]);
  expect(repairOf(RUN, bad)).toBe(`longhaul verify ${RUN} --repair`);
  expect(repairOf(RUN, badFiles({ files: { "manifest.json": "damaged" } }))).toBeNull();
});

test("a CSV download is damaged if its source file is", () => {
  expect(["acks.csv", "acks.parquet", "log.txt"].map(sourceOf)).toEqual(["acks.parquet", "acks.parquet", "log.txt"]);
});
