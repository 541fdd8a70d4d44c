import { expect, test } from "vitest";
import { termsOf } from "./terms";

const words = (name: string, text = "") => termsOf(name, text).map((term) => term.word);

test("a value can be a term", () => {
  expect(termsOf("measure", "", "jain").map((term) => term.word)).toContain("Jain's index");
});

test.each([
  ["buffer", "", ["buffer", "BDP"]],
  ["warmup", "left out of measures", ["warmup", "slow start"]],
  ["queue", "", ["queue", "drop-tail"]],
  ["jain", "", ["Jain's index"]],
  ["repeats", "", ["repeat"]],
  ["recovery", "", ["RTO"]],
  ["ssthresh", "", ["ssthresh"]],
  ["stop", "in BDP, or with ecn", ["BDP", "ECN"]],
  ["stop", "a second option", []],
])("%s, %s", (name, text, found) => {
  expect(words(name, text)).toEqual(found);
});
