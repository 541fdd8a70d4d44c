import { expect, test } from "vitest";
import { matching } from "./finding";

const ROWS = [
  { name: "Ärger mit BBR", text: "a flow of video" },
  { name: "queue", text: "waiting runs" },
  { name: "demo", text: "a queue of packets" },
  { name: "long queue", text: "" },
];

function found(sought: string): string[] {
  return matching(ROWS, sought, (row) => row).map((row) => row.name);
}

test("every word must occur, and names come before descriptions", () => {
  expect(found("queue")).toEqual(["queue", "long queue", "demo"]);
  expect(found(" PACKETS  queue ")).toEqual(["demo"]);
  expect(found("ärger video")).toEqual(["Ärger mit BBR"]);
  expect(found("queue nothing")).toEqual([]);
});

test("without words everything is found, in its order", () => {
  expect(found(" ")).toEqual(ROWS.map((row) => row.name));
});
