import { expect, test } from "vitest";
import { steps } from "./steps";

test.each([
  ["10 ms", "80 ms", ["10 ms", "20 ms", "40 ms", "80 ms"]],
  [
    "1 Mbit/s",
    "1000 Mbit/s",
    [
      "1 Mbit/s",
      "2 Mbit/s",
      "4 Mbit/s",
      "8 Mbit/s",
      "16 Mbit/s",
      "32 Mbit/s",
      "64 Mbit/s",
      "128 Mbit/s",
      "256 Mbit/s",
      "512 Mbit/s",
      "1000 Mbit/s",
    ],
  ],
  ["1 BDP", "3 BDP", ["1 BDP", "1.5 BDP", "2 BDP", "2.5 BDP", "3 BDP"]],
  ["0 ms", "4 ms", ["0 ms", "1 ms", "2 ms", "3 ms", "4 ms"]],
  ["1", "4", ["1", "2", "4"]],
  ["10 ms", "1 s", null],
  ["cubic", "reno", null],
  ["5 ms", "5 ms", null],
] as const)("from %s to %s", (first, last, values) => {
  expect(steps(first, last)).toEqual(values);
});
