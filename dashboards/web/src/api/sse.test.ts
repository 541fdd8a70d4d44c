import { expect, test } from "vitest";
import { EventReader } from "./sse";

const STREAM =
  "retry: 2000\n\n" +
  'id: 17\nevent: run.progress\ndata: {"virtual_s": 1}\n\n' +
  ": quiet\n\n" +
  "id: 18\nevent: run.finished\ndata: first\ndata:second\n\n";
const EVENTS = [
  { id: "17", event: "run.progress", data: '{"virtual_s": 1}' },
  { id: "18", event: "run.finished", data: "first\nsecond" },
];

test.each([1, 2, 3, 7, 1000])("events from pieces of %i characters", (length) => {
  const reader = new EventReader();
  const found = [];
  for (let at = 0; at < STREAM.length; at += length) found.push(...reader.push(STREAM.slice(at, at + length)));
  expect(found).toEqual(EVENTS);
});

test("an incomplete event is dropped", () => {
  expect(new EventReader().push("id: 1\ndata: x\n")).toEqual([]);
});

test("lines may end with CR LF", () => {
  expect(new EventReader().push("id: 1\r\ndata: x\r\n\r\n")).toEqual([{ id: "1", event: "message", data: "x" }]);
});
