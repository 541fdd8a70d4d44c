import { expect, test, vi } from "vitest";
import { Problem } from "../../api/problem";
import type { Run } from "../../data/runDocument";
import { badFiles, isDamage, repairOf, sourceOf, traceOf } from "./damage";

vi.mock("../../api/client", () => ({ api: {}, answered: () => Promise.reject(new Error("nobody is asked here")) }));

const RUN = "0123456789abcdef0123";
const run = (document: unknown): Run => ({ id: RUN, document }) as Run;

test("the files that a page shows are the run's own, or those of the run that it repeats to the byte", () => {
  expect(traceOf(run(null))).toBe(RUN);
  expect(traceOf(run({ rerun: { run: "f".repeat(20), identical: true, differences: [] } }))).toBe("f".repeat(20));
  expect(traceOf(run({ rerun: { run: "f".repeat(20), identical: false, differences: ["its length"] } }))).toBe(RUN);
});

test("damage is told from other problems by its kind", () => {
  const problem = (type: string) => Problem.of(new Response(null, { status: 500 }), { type, title: "A trace" });
  expect(isDamage(problem("/problems/run-damaged"))).toBe(true);
  expect(isDamage(problem("/problems/trace-error"))).toBe(false);
  expect([null, undefined, new Error("run-damaged")].map(isDamage)).toEqual([false, false, false]);
});

test("the command that repairs a run is given where its manifest is whole, and only there", () => {
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

test("a table as CSV is as damaged as the file that it is made from", () => {
  expect(["acks.csv", "acks.parquet", "log.txt"].map(sourceOf)).toEqual(["acks.parquet", "acks.parquet", "log.txt"]);
});
