import { expect, test } from "vitest";
import { firstOf, measureText, measureValue } from "../../data/measures";
import type { Outline } from "../../data/runDocument";
import { differingIn } from "./conditions";
import { drawnOf, MOST_RUNS } from "./drawn";
import { colourAt, heatOf, type RunValue, shareOf, shortValue } from "./heat";
import { mapCsv, mapSvg } from "./mapFile";
import { jain, mean } from "./statistics";

test("Jain's index is 1 for equal shares and 1/n if one flow has all", () => {
  expect(jain([5, 5, 5, 5])).toBe(1);
  expect(jain([7, 0, 0, 0])).toBe(0.25);
  expect(jain([0, 0])).toBe(1);
  expect(mean([1, null, 3])).toBe(2);
  expect(mean([null])).toBeNull();
});

const value = (a: string, b: string, seed: number, of: number | null): RunValue => ({
  run: `${a}${b}${seed}`,
  point: { "flows.a.cc": a, "flows.b.cc": b },
  seed,
  status: "done",
  value: of,
});
const VALUES = [
  value("x", "x", 1, 1),
  value("x", "y", 1, 2),
  value("y", "x", 1, 4),
  value("x", "x", 2, 3),
  value("y", "y", 1, null),
];

test("a cell is the mean of its runs, in the order of the sweep", () => {
  const heat = heatOf(VALUES, "flows.b.cc", "flows.a.cc");
  expect(heat.columns).toEqual(["x", "y"]);
  expect(heat.rows).toEqual(["x", "y"]);
  expect(heat.cells.map((row) => row.map((cell) => cell.value))).toEqual([
    [2, 2],
    [4, null],
  ]);
  expect([heat.least, heat.greatest]).toEqual([2, 4]);
  expect(heatOf(VALUES, "flows.a.cc", "").cells.map((row) => row.map((cell) => cell.runs.length))).toEqual([[3, 2]]);
});

test("a cell has the spread of its runs, and colours may follow the logarithm", () => {
  const heat = heatOf(VALUES, "flows.b.cc", "flows.a.cc");
  expect(heat.cells.map((row) => row.map((cell) => cell.deviation))).toEqual([
    [Math.SQRT2, null],
    [null, null],
  ]);
  const decades = [1, 10, 100].map((one) => value("x", String(one), 1, one));
  const isLog = heatOf(decades, "flows.b.cc", "", true);
  expect([shareOf(isLog, 10), shareOf(heatOf(decades, "flows.b.cc", ""), 10)]).toEqual([0.5, 1 / 11]);
  // A zero has no logarithm.
  expect(heatOf([...decades, value("x", "0", 1, 0)], "flows.b.cc", "", true).isLog).toBe(false);
});

test("the files of a heat map contain every run and every cell", () => {
  const map = {
    heat: heatOf(VALUES, "flows.b.cc", "flows.a.cc"),
    x: "flows.b.cc",
    y: "flows.a.cc",
    measure: "jain",
    title: "t",
    notes: [],
  };
  expect(mapCsv(map).trim().split("\n")).toHaveLength(6);
  expect(mapSvg(map).match(/<rect /g)).toHaveLength(5);
  // One cell is hatched, and the key explains it.
  const notes = [{ text: "odd", points: [{ "flows.b.cc": "x", "flows.a.cc": "y" }] }];
  expect(mapSvg({ ...map, notes }).match(/url\(#noted\)/g)).toHaveLength(2);
  expect(mapSvg({ ...map, notes })).toContain("with notes");
});

test("a swept flow is named by its congestion control", () => {
  expect(shortValue("{name: first, cc: htcp_be}")).toBe("htcp_be");
  expect(shortValue('{"name": "first", "cc": "bbr"}')).toBe("bbr");
  expect(shortValue("32 ms")).toBe("32 ms");
});

test("text on a colour has enough contrast", () => {
  const luminance = (colour: string): number => {
    const [r = 0, g = 0, b = 0] = (
      colour.startsWith("#")
        ? [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16))
        : (colour.match(/\d+/g) ?? []).map(Number)
    ).map((one) => (one / 255 <= 0.03928 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (let share = 0; share <= 1; share += 0.02) {
    const { ground, text } = colourAt(share);
    const [light, dark] = [luminance(ground), luminance(text)].sort((a, b) => b - a) as [number, number];
    expect((light + 0.05) / (dark + 0.05), `at ${share}`).toBeGreaterThan(4.5);
  }
});

test("measures have names and units, in comparisons and summaries", () => {
  expect(measureText("rtt_ms.p95")).toBe("RTT, 95 %");
  expect(measureText("rtt_p95")).toBe("RTT, 95 %");
  expect(measureText("queue_packets.mean")).toBe("queue, mean");
  expect(measureValue("goodput_bps", 1e8)).toBe("100 Mbit/s");
  expect(measureValue("rtt_mean", 40)).toBe("40 ms");
  expect(measureValue("share", 0.5)).toBe("50 %");
  expect(measureValue("completion_s", 2.5)).toBe("2.5 s");
  expect(measureValue("retransmits", 12345)).toBe("12,345");
});

test("many runs are drawn page by page, and the last page after some were removed", () => {
  const runs = Array.from({ length: 2 * MOST_RUNS + 1 }, (_, at) => `run-${at}`);
  expect(drawnOf(runs, 0)).toEqual({ first: 0, ids: runs.slice(0, MOST_RUNS) });
  expect(drawnOf(runs, MOST_RUNS + 3)).toEqual({ first: MOST_RUNS, ids: runs.slice(MOST_RUNS, 2 * MOST_RUNS) });
  expect(drawnOf(runs, 2 * MOST_RUNS).ids).toEqual(runs.slice(-1));
  expect(drawnOf(runs.slice(1), 2 * MOST_RUNS).first).toBe(MOST_RUNS);
  expect(drawnOf([], 5)).toEqual({ first: 0, ids: [] });
});

test("runs differ in their conditions, not in their seeds", () => {
  const outline = (rtt_ms: number) =>
    ({
      duration_s: 10,
      rtt_ms,
      buffer_packets: 100,
      flows: [{ name: "app", cc: "cubic", kind: "tcp" }],
      links: [{ rate_bps: 1e7, queue: "fifo" }],
    }) as unknown as Outline;
  const of = (rtt_ms: number, point: Record<string, string> = {}) => ({
    run: { backend: "sandbox" as const, kernel: "6.12", topology: "dumbbell", point },
    outline: outline(rtt_ms),
  });
  expect(differingIn([of(40), of(40)])).toEqual([]);
  expect(
    differingIn([of(40, { "path.rtt": "40 ms" }), of(80, { "path.rtt": "80 ms", "path.loss": "1e-4" }), of(40)]),
  ).toEqual([
    { field: "rtt", values: ["40 ms", "80 ms"] },
    { field: "loss", values: ["not swept", "1e-4"] },
  ]);
  expect(differingIn([])).toEqual([]);
});

test("a heat map begins with shares of competing flows, or with goodput of a single flow", () => {
  const of = (measure: string, flow: string | null) => ({ measure, flow });
  const lone = [of("utilisation", null), of("share", "a"), of("goodput_bps", "a")];
  expect(firstOf(lone)).toEqual(of("goodput_bps", "a"));
  expect(firstOf([...lone, of("share", "b")])).toEqual(of("share", "a"));
  expect(firstOf(lone.slice(0, 1))).toEqual(of("utilisation", null));
});
