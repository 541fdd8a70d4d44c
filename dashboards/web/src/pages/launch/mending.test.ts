import { expect, test } from "vitest";
import { mended, mendOf } from "./mending";
import type { Location } from "./yamlText";
import { parseText } from "./yamlText";

const TEXT = `path: {rtt: 100, buffr: 1 BDP, recording: {file: a}}
flows: [{name: one, cc: cubik}]
kernel: 7.3
sweep:
  path.rt: [10, 20]
`;

const mend = (location: Location, nearest: string, misnamed = false): string => {
  const found = mendOf(parseText(TEXT).doc, { location, field: "", message: "", nearest, misnamed });
  return found ? mended(TEXT, found) : TEXT;
};

test.each([
  [["path", "rtt"], "100 ms", false, "rtt: 100 ms,"],
  [["path", "buffr"], "buffer", true, "100, buffer: 1 BDP"],
  [["flows", 0, "cc"], "cubic", false, "cc: cubic}"],
  [["kernel"], "7.3", false, 'kernel: "7.3"'],
  [["sweep", "path.rt"], "path.rtt", true, "  path.rtt: [10, 20]"],
  [["sweep", "path.rt", 1], "20 ms", false, "[10, 20 ms]"],
] satisfies [
  Location,
  string,
  boolean,
  string,
][])("the correction of %s is %s", (location, nearest, misnamed, shown) => {
  expect(mend(location, nearest, misnamed)).toContain(shown);
});

test("a field that is not in the text has no correction", () => {
  expect(mend(["path", "bandwidth"], "1 Mbit/s")).toBe(TEXT);
});
