import { describe, expect, it } from "vitest";
import { csvOf } from "./saving";

describe("the rows of a drawing as CSV", () => {
  it("have a line each, quoted where a comma would divide a cell, and nothing where there is no value", () => {
    expect(
      csvOf([
        ["point", "mean (bit/s)"],
        ["rtt 20 ms, cc bbr", 5e6],
        ["rtt 80 ms", null],
      ]),
    ).toBe('point,mean (bit/s)\n"rtt 20 ms, cc bbr",5000000\nrtt 80 ms,\n');
  });
});
