import { expect, test, vi } from "vitest";
import { fileName, formatOf } from "./queries";
import { outagesOf, stepsOf } from "./steps";

vi.mock("../api/client", () => ({ api: {}, answered: () => Promise.reject(new Error("no request expected")) }));

const PART = { from_s: 10, to_s: 11.1, every_s: 0.5, rate_bps: [1, 2, 3], outage: [0, 0.2, 1] };

test("each value holds for an interval, the last one until the end of the part", () => {
  const { t, v } = stepsOf(PART, PART.rate_bps, 10);
  expect([...t]).toEqual([10, 10.5, 10.5, 11, 11, 11.1]);
  expect([...v]).toEqual([10, 10, 20, 20, 30, 30]);
});

test("intervals with outages are joined; without rates there are none", () => {
  expect(outagesOf(PART)).toEqual([[10.5, 11.1]]);
  expect(outagesOf({ ...PART, outage: [1, 0, 0.1] })).toEqual([
    [10, 10.5],
    [11, 11.1],
  ]);
  expect(outagesOf({ from_s: 0, to_s: 1, every_s: 1 })).toEqual([]);
});

test("a name is made one that the service takes, and keeps its ending", () => {
  expect(fileName("../my trace (1).mahi")).toBe("my trace _1_.mahi");
  expect(fileName(`${"x".repeat(200)}.csv`)).toMatch(/^x{116}\.csv$/);
  expect(fileName("...")).toBe("recording");
  expect(["a.csv", "a.parquet", "a.mahi", "a", "b.csv.txt"].map(formatOf)).toEqual([
    "table",
    "table",
    "mahimahi",
    "mahimahi",
    "mahimahi",
  ]);
});
