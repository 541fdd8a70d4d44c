import { expect, test } from "vitest";
import type { RunRow } from "../../data/runList";
import { experimentLeftS, leftText, Pace } from "./remaining";

test("a run has no estimate at first, then one from its recent speed, with the time to measure it", () => {
  const pace = new Pace();
  pace.note(0, 0, 0);
  expect(pace.leftS(0, 100, 0)).toBeNull();
  // Two virtual seconds in a real one, then half of that, as more flows begin.
  for (let at = 0.25; at <= 5; at += 0.25) pace.note(at, at * 2, at);
  expect(pace.leftS(5, 100, 5)).toBeCloseTo(45 + 0.5 + 0.2 * 50);
  for (let at = 5.25; at <= 30; at += 0.25) pace.note(at, 10 + (at - 5), at);
  expect(pace.leftS(30, 100, 30)).toBeCloseTo(65 + 0.5 + 0.2 * 95);
  // The time passes between two samples, and after the last one too.
  expect(pace.leftS(31, 100, 31)).toBeCloseTo(64 + 0.5 + 0.2 * 95);
  for (let at = 30.25; at <= 95; at += 0.25) pace.note(at, 10 + (at - 5), at);
  pace.note(96, 100, 96);
  expect(pace.leftS(98, 100, 98)).toBeCloseTo(0.5 + 0.2 * 98 - 3);
  expect(pace.leftS(200, 100, 200)).toBe(0);
});

test("a page that opens during a run does not take the arrival of its earlier samples for its speed", () => {
  const pace = new Pace();
  // The run was started 10 s ago, and simulates 3 s in one; all samples arrive within a second.
  const reached = (at: number): number => Math.min(30 * at, 3 * (10 + at));
  for (let at = 0; at <= 1; at += 0.25) pace.note(at, reached(at), 10 + at);
  expect(pace.leftS(1, 300, 11)).toBeGreaterThan(80);
  for (let at = 1.25; at <= 20; at += 0.25) {
    pace.note(at, reached(at), 10 + at);
    const right = (300 - reached(at)) / 3;
    const left = pace.leftS(at, 300, 10 + at) ?? 0;
    expect(Math.abs(left - right) / right).toBeLessThan(0.3);
  }
});

test("another attempt has no speed yet", () => {
  const pace = new Pace();
  for (let at = 0; at <= 5; at++) pace.note(at, at, at);
  pace.note(6, 0, 6);
  expect(pace.leftS(6, 100, 6)).toBeNull();
});

test("a run that stands still has no estimate", () => {
  const pace = new Pace();
  for (let at = 0; at <= 5; at++) pace.note(at, 3, at);
  expect(pace.leftS(5, 100, 5)).toBeNull();
});

const SINCE = "2031-05-17T09:00:00Z";
const at = (second: number): string => new Date(Date.parse(SINCE) + second * 1000).toISOString();
const row = (status: string, begin: number | null, end: number | null, more: object = {}): RunRow =>
  ({
    status,
    virtual_s: 10,
    bandwidth_bps: 1e6,
    started_at: begin === null ? null : at(begin),
    finished_at: end === null ? null : at(end),
    ...more,
  }) as RunRow;
const now = (second: number): number => Date.parse(at(second));

test("an experiment takes as long for its other runs as for those that have ended", () => {
  const rows = [row("done", 0, 4), row("missed", 4, 8), row("queued", null, null), row("queued", null, null)];
  expect(experimentLeftS(rows, 4, SINCE, now(8))).toBeCloseTo(8);
  // Half of a run has been simulated.
  const half = [...rows.slice(0, 2), row("running", 8, null), row("queued", null, null)];
  expect(experimentLeftS(half, 4, SINCE, now(10))).toBeCloseTo(6);
  // Two at a time take half of the time.
  const two = [row("done", 0, 4), row("done", 0, 4), row("queued", null, null), row("queued", null, null)];
  expect(experimentLeftS(two, 4, SINCE, now(4))).toBeCloseTo(4);
});

test("runs that were kept already say nothing, runs of more packets take longer, and unlisted ones count", () => {
  const kept = row("done", -100, -90);
  expect(experimentLeftS([kept, row("queued", null, null)], 2, SINCE, now(5))).toBeNull();
  const fast = row("queued", null, null, { bandwidth_bps: 5e6 });
  expect(experimentLeftS([kept, row("done", 0, 4), fast], 3, SINCE, now(4))).toBeCloseTo(20);
  expect(experimentLeftS([row("done", 0, 4), row("queued", null, null)], 100, SINCE, now(4))).toBeCloseTo(4 * 99);
  expect(experimentLeftS([row("done", 0, 4)], 1, SINCE, now(4))).toBeNull();
});

test("an estimate is no more precise than it is", () => {
  expect([0.2, 12.4, 63, 3700].map(leftText)).toEqual([
    "about 1 s left",
    "about 12 s left",
    "about 1 min 5 s left",
    "about 1 h 2 min left",
  ]);
});
