import { expect, test } from "vitest";
import { parseText } from "./yamlText";

test.each([
  ["a: b: c\n", "Line 1, column 4: a field begins inside a value."],
  ["flows:\n  - {name: one, cc: cubic\nduration: 1 s\n", "Line 2, column 5: { is not closed. Add } at its end."],
  ["a: [1, 2\nc: 3\n", "Line 1, column 4: [ is not closed. Add ] at its end."],
  ['a: "x\n', 'Line 1, column 4: " is not closed. Add " at its end.'],
  ["a:\n\tb: 1\n", "Line 2, column 1: the line is indented with a tab."],
  ["a: @x\n", "Line 1, column 4: a value cannot begin with this character."],
  ["a: 1\nfoo\nb: 1\n", "Line 2, column 1: a field needs a colon"],
  ["flows: [{name: one cc: cubic}]\n", "Line 1, column 16: a comma is missing"],
  ["path:\n  rtt: 1 ms\n bandwidth: 2\n", "Line 3, column 1: this line is indented otherwise"],
  ["a: 1\n---\nb: 2\n", "Line 2, column 1: a text has one experiment."],
  ["a: 1\nb", "Line 2, column 1: a field needs a colon"],
])("%j is answered with the place and the remedy", (text, message) => {
  const { faults } = parseText(text);
  expect(faults).toHaveLength(1);
  expect(faults[0]?.message).toContain(message);
});

test("of a broken text the first mistake counts, and each field that is there twice", () => {
  const { faults } = parseText("a: 1\na: 2\nb: 1\nb: 2\nc: {x: 1\n");
  expect(faults.map((fault) => fault.message.slice(0, 7))).toEqual(["Line 2,", "Line 4,", "Line 5,"]);
});
