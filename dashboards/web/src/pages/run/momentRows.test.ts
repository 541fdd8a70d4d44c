import { describe, expect, it } from "vitest";
import { nearestIn, pagesOf, ROW_PX, rowsInSight } from "./momentRows";

describe("rows of moments", () => {
  it("are those in sight and some around them, in steps", () => {
    expect(rowsInSight(0, 320)).toEqual({ from: 0, to: 30 });
    expect(rowsInSight(100 * ROW_PX, 320)).toEqual({ from: 90, to: 130 });
    expect(rowsInSight(101 * ROW_PX, 320).from).toBe(90);
  });

  it("belong to pages of 200", () => {
    expect(pagesOf({ from: 0, to: 40 })).toEqual([0]);
    expect(pagesOf({ from: 190, to: 230 })).toEqual([0, 1]);
  });
});

describe("the row nearest to a time", () => {
  const page = (skipped: number, total: number, ...times: number[]) => ({
    skipped,
    total,
    moments: times.map((t_s) => ({ t_s })),
  });

  it("is known only if the time is within a loaded page or beyond the ends of all", () => {
    expect(nearestIn([page(0, 3, 1, 2, 4)], 2.9)).toBe(1);
    expect(nearestIn([page(0, 3, 1, 2, 4)], 9)).toBe(2);
    expect(nearestIn([page(200, 600, 5, 6, 7)], 6.4)).toBe(201);
    expect(nearestIn([page(200, 600, 5, 6, 7)], 4)).toBeNull();
    expect(nearestIn([page(200, 600, 5, 6, 7)], 8)).toBeNull();
    expect(nearestIn([page(0, 0)], 8)).toBeNull();
  });
});
