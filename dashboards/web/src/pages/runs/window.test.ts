import { expect, test } from "vitest";
import { MOST_ROWS, rangeOf } from "./window";

test.each([0, 1, 33, 3300, 330_000, 659_000])("the rows in sight are drawn, at %s px", (above) => {
  for (const [height, row] of [
    [800, 33],
    [844, 110],
    [2160, 33],
    [300, 33],
  ] as const) {
    const { from, to } = rangeOf(above, height, row, 20_000);
    expect(to - from).toBeLessThanOrEqual(MOST_ROWS);
    expect(from * row).toBeLessThanOrEqual(above);
    expect(Math.min(20_000, Math.floor((above + height) / row))).toBeLessThanOrEqual(to);
  }
});

test("no row before the first and none behind the last is drawn", () => {
  expect(rangeOf(-500, 800, 33, 20_000).from).toBe(0);
  expect(rangeOf(0, 800, 33, 7)).toEqual({ from: 0, to: 7 });
  expect(rangeOf(660_000, 800, 33, 20_000).to).toBe(20_000);
  // After a filter has left few rows, the page may still be scrolled far down.
  expect(rangeOf(100_000, 800, 33, 12)).toEqual({ from: 2, to: 12 });
  expect(rangeOf(0, 800, 33, 0)).toEqual({ from: 0, to: 0 });
});

test("a small movement draws nothing", () => {
  expect(rangeOf(3301, 800, 33, 20_000)).toEqual(rangeOf(3310, 800, 33, 20_000));
});
