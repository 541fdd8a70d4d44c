import { expect, test } from "vitest";
import { seconds, snapped, step, ticks, written } from "./durations";

test.each([
  ["40 ms", 0.04],
  ["1.5 min", 90],
  ["300us", 3e-4],
  ["2 h", 7200],
  ["60", null],
  ["1 BDP", null],
  ["", null],
  [60, null],
])("%s is %s seconds", (text, value) => {
  if (value === null) expect(seconds(text)).toBeNull();
  else expect(seconds(text)).toBeCloseTo(value, 12);
});

test.each([
  [0, "0 s"],
  [12.5, "12.5 s"],
  [0.04, "40 ms"],
  [5e-5, "50 us"],
  [7200, "7200 s"],
])("%s seconds are written %s", (value, text) => {
  expect(written(value)).toBe(text);
  expect(seconds(text)).toBeCloseTo(value, 12);
});

test("round steps and ticks", () => {
  expect([0.3, 1, 4.9, 60].map(step)).toEqual([0.2, 1, 2, 50]);
  expect(snapped(12.34, 0.5)).toBe(12.5);
  expect(ticks(60)).toEqual([0, 10, 20, 30, 40, 50, 60]);
  expect(ticks(0.4).at(-1)).toBe(0.4);
  expect(ticks(0)).toEqual([0]);
});
