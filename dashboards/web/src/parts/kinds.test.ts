import { expect, test } from "vitest";
import { kindsOf } from "./kinds";

test("sentences that differ in numbers alone are of one kind", () => {
  const said = [
    "1e-05 of packets are lost, which holds these flows to about 395 Mbit/s",
    "0.001 of packets are lost, which holds these flows to about 39.5 Mbit/s",
    "summaries begin at 0 s, inside slow start",
  ];
  expect(kindsOf(said)).toEqual([
    { first: said[0], more: 1 },
    { first: said[2], more: 0 },
  ]);
});
