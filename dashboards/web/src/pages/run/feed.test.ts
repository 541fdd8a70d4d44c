import { expect, test } from "vitest";
import { Feed } from "./feed";

const samplesEvent = (from: number, to: number, t_ms: number[]) => ({
  id: `v.${to}`,
  event: "samples",
  data: JSON.stringify({ from_ms: from, to_ms: to, series: [{ measure: "cwnd", of: "a", t_ms, value: t_ms }] }),
});
const event = (kind: string, data: object) => ({ id: "x", event: kind, data: JSON.stringify(data) });

test("samples are appended in order, once, even after a broken stream", () => {
  const feed = new Feed();
  feed.receive(event("begin", { from_ms: 0 }));
  feed.receive(samplesEvent(0, 200, [10, 120]));
  // The connection broke before this event was acknowledged: the service sends it again.
  feed.receive(samplesEvent(200, 300, [210]));
  feed.receive(event("begin", { from_ms: 200 }));
  feed.receive(samplesEvent(200, 400, [210, 320]));
  expect([...feed.samples("cwnd", "a").t]).toEqual([0.01, 0.12, 0.21, 0.32]);
  expect(feed.frontS).toBe(0.4);
});

test("another attempt in real time begins without samples", () => {
  const feed = new Feed();
  feed.receive(samplesEvent(0, 200, [10, 120]));
  feed.receive(event("begin", { from_ms: 0 }));
  expect(feed.samples("cwnd", "a").t.length).toBe(0);
});

test("the feed has the state of the run, and recognises the last event", () => {
  const feed = new Feed();
  expect(feed.receive(event("state", { state: "starting" }))).toBe(false);
  expect(feed.state).toBe("starting");
  expect(feed.receive(event("end", { status: "done" }))).toBe(true);
  expect(feed.state).toBe("ended");
});

test("an attempt that repeats known samples has its own progress", () => {
  const feed = new Feed();
  feed.receive(samplesEvent(0, 7100, [10, 7000]));
  expect([feed.frontS, feed.reachedS, feed.repeating]).toEqual([7.1, 7.1, null]);
  // The service was killed: the run is queued, and starts again from its beginning.
  feed.receive(event("state", { state: "queued" }));
  expect([feed.frontS, feed.reachedS]).toEqual([7.1, 0]);
  feed.receive(event("state", { state: "live" }));
  feed.receive(event("repeating", { attempt: 2, reached_ms: 900 }));
  expect([feed.frontS, feed.reachedS, feed.repeating]).toEqual([7.1, 0.9, 2]);
  feed.receive(samplesEvent(7100, 7300, [7200]));
  expect([feed.frontS, feed.reachedS, feed.repeating]).toEqual([7.3, 7.3, null]);
});

test("goodput is a mean over an RTT, because data behind a loss is delivered all at once", () => {
  const feed = new Feed(0.2);
  const cells = { measure: "goodput", of: "a", t_ms: [100, 200, 300, 400], value: [100, 0, 300, 100] };
  feed.receive({ id: "x", event: "samples", data: JSON.stringify({ from_ms: 0, to_ms: 400, series: [cells] }) });
  expect([...feed.samples("goodput", "a").v]).toEqual([100, 50, 150, 200]);
});
