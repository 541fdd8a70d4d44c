import { expect, test } from "vitest";
import { Feed } from "./feed";

const told = (from: number, to: number, t_ms: number[]) => ({
  id: `v.${to}`,
  event: "samples",
  data: JSON.stringify({ from_ms: from, to_ms: to, series: [{ measure: "cwnd", of: "a", t_ms, value: t_ms }] }),
});
const event = (kind: string, data: object) => ({ id: "x", event: kind, data: JSON.stringify(data) });

test("samples are taken in their order, once, also where the stream was broken", () => {
  const feed = new Feed();
  feed.receive(event("begin", { from_ms: 0 }));
  feed.receive(told(0, 200, [10, 120]));
  // The connection broke before this one was said to have come: the service tells it again.
  feed.receive(told(200, 300, [210]));
  feed.receive(event("begin", { from_ms: 200 }));
  feed.receive(told(200, 400, [210, 320]));
  expect([...feed.samples("cwnd", "a").t]).toEqual([0.01, 0.12, 0.21, 0.32]);
  expect(feed.frontS).toBe(0.4);
});

test("another attempt by the real clock begins from nothing", () => {
  const feed = new Feed();
  feed.receive(told(0, 200, [10, 120]));
  feed.receive(event("begin", { from_ms: 0 }));
  expect(feed.samples("cwnd", "a").t.length).toBe(0);
});

test("it says how the run stands, and which event is the last", () => {
  const feed = new Feed();
  expect(feed.receive(event("state", { state: "starting" }))).toBe(false);
  expect(feed.state).toBe("starting");
  expect(feed.receive(event("end", { status: "done" }))).toBe(true);
  expect(feed.state).toBe("ended");
});

test("an attempt that repeats what was told says how far it is itself", () => {
  const feed = new Feed();
  feed.receive(told(0, 7100, [10, 7000]));
  expect([feed.frontS, feed.reachedS, feed.repeating]).toEqual([7.1, 7.1, null]);
  // The service was killed: the run waits, and is made again from its start.
  feed.receive(event("state", { state: "queued" }));
  expect([feed.frontS, feed.reachedS]).toEqual([7.1, 0]);
  feed.receive(event("state", { state: "live" }));
  feed.receive(event("repeating", { attempt: 2, reached_ms: 900 }));
  expect([feed.frontS, feed.reachedS, feed.repeating]).toEqual([7.1, 0.9, 2]);
  feed.receive(told(7100, 7300, [7200]));
  expect([feed.frontS, feed.reachedS, feed.repeating]).toEqual([7.3, 7.3, null]);
});

test("goodput is drawn over a round trip, so that what waited behind a loss is no rate of the path", () => {
  const feed = new Feed(0.2);
  const cells = { measure: "goodput", of: "a", t_ms: [100, 200, 300, 400], value: [100, 0, 300, 100] };
  feed.receive({ id: "x", event: "samples", data: JSON.stringify({ from_ms: 0, to_ms: 400, series: [cells] }) });
  expect([...feed.samples("goodput", "a").v]).toEqual([100, 50, 150, 200]);
});
