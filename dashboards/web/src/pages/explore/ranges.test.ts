import { describe, expect, it } from "vitest";
import { moved, placesOf, readRanges, writeRanges } from "./ranges";

describe("ranges on axes", () => {
  it("are written and read", () => {
    const ranges = new Map([["path.rtt", [0.25, 1]] as const]);
    expect(writeRanges(ranges)).toEqual(["path.rtt~0.25~1"]);
    expect(readRanges(writeRanges(ranges))).toEqual(ranges);
    expect(readRanges(["", "a~x~1", "b~2~1"]).size).toBe(0);
  });
});

describe("the order of axes", () => {
  it("changes by one axis", () => {
    expect(moved(["a", "b", "c"], 0, 2)).toEqual(["b", "c", "a"]);
    expect(moved(["a", "b", "c"], 2, 0)).toEqual(["c", "a", "b"]);
    expect(placesOf([3, 1, 3, 2])).toEqual([1, 2, 3]);
  });
});
