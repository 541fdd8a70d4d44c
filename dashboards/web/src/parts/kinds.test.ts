import { expect, test } from "vitest";
import { kindsOf } from "./kinds";

test("sentences that differ only in numbers are of one kind", () => {
  const notes = [
    "1e-05 of packets are lost, which holds these flows to about 395 Mbit/s",
    "0.001 of packets are lost, which holds these flows to about 39.5 Mbit/s",
    "summaries begin at 0 s, inside slow start",
  ];
  expect(kindsOf(notes, (note) => note)).toEqual([[notes[0], notes[1]], [notes[2]]]);
});
