import { expect, test, vi } from "vitest";
import { bandOf, stripesOf } from "./coincidence";
import { csvOf } from "./exporting";
import { figure, ticksIn } from "./figure";
import { readSeries } from "./kept";
import { QUANTITIES, SECONDS } from "./quantities";
import { rangeOf } from "./range";
import { MOST_ROWS, rowsOf, sortedAt, statisticsOf } from "./readings";
import { pointsFor } from "./request";
import { extentOf, Growing, placeOf, type Samples, valueAt, within } from "./samples";
import { risesOf, signsIn } from "./signs";
import { keyOf } from "./source";
import { Span } from "./span";
import { steered } from "./steering";

vi.mock("../api/address", () => ({ addressOf: (path: string) => path, BASE: "" }));
vi.mock("../api/client", () => ({ ask: () => Promise.reject(new Error("no request expected")) }));

const samples = (t: number[], v: number[]): Samples => ({ t: Float64Array.from(t), v: Float64Array.from(v) });

const line = (name: string, all: Samples, more: object = {}) => ({
  key: name, name, place: 0, colour: "", dash: [], width: 1, samples: () => all, ...more,
}); // biome-ignore format: one look

test("samples cut to a window keep a neighbour on either side", () => {
  const all = samples([0, 1, 2, 3, 4], [0, 10, 20, 30, 40]);
  expect([...within(all, [1.5, 2.5]).t]).toEqual([1, 2, 3]);
  expect([...within(all, [-5, 0.5]).t]).toEqual([0, 1]);
  expect([...within(all, [2, 2]).v]).toEqual([10, 20]);
  expect([...within(all, [9, 10]).t]).toEqual([4]);
});

test("the value at a time is the last one before it", () => {
  const all = samples([1, 2, 3], [10, 20, 30]);
  expect([0.5, 1, 2.9, 3, 99].map((time) => valueAt(all, time))).toEqual([null, 10, 20, 30, 30]);
  expect(placeOf(all.t, 2)).toBe(1);
});

test("minimum and maximum of samples; null without samples", () => {
  expect(extentOf([samples([0], [3]), samples([0, 1], [-1, 7])])).toEqual([-1, 7]);
  expect(extentOf([samples([], [])])).toBeNull();
});

test("growing samples are cut when a stream begins again", () => {
  const growing = new Growing();
  for (let at = 0; at < 1000; at++) growing.append([at], [at * 2]);
  growing.cut(500);
  growing.append([500, 501], [1, 2]);
  expect(growing.samples.t.length).toBe(502);
  expect(valueAt(growing.samples, 501)).toBe(2);
  expect(valueAt(growing.samples, 499)).toBe(998);
});

test("a span zooms about a time, moves within the whole, and shows all again", () => {
  vi.stubGlobal("requestAnimationFrame", () => 1);
  const span = new Span([0, 100]);
  span.scale(0.1, 20);
  expect(span.shown).toEqual([18, 28]);
  span.move(-5);
  expect(span.shown).toEqual([0, 10]);
  span.move(100);
  expect(span.shown).toEqual([90, 100]);
  span.scale(1000);
  expect(span.zoom).toBeNull();
  expect(span.shown).toEqual([0, 100]);
});

test("the pointer stays in place: after a zoom it is at another time", () => {
  vi.stubGlobal("requestAnimationFrame", () => 1);
  const span = new Span([0, 100]);
  span.point(0.5);
  expect(span.cursor).toBe(50);
  span.show([10, 20]);
  expect(span.cursor).toBe(15);
  span.point(null);
  expect(span.cursor).toBeNull();
});

test("values above the capacity are cut off, and the capacity is not a value", () => {
  const flow = samples([0, 1, 2], [90, 2200, 95]);
  const capacity = samples([0, 2], [100, 100]);
  const lines = [{}, { reference: true }];
  const clipped = rangeOf([flow, capacity], lines, { log: false, clip: true });
  expect(clipped.peak).toBe(2200);
  expect(clipped.window[1]).toBeCloseTo(115);
  expect(rangeOf([flow, capacity], lines, { log: false }).window[1]).toBeGreaterThan(2200);
  // Far above all values it would press them to the foot.
  expect(rangeOf([samples([0], [10]), capacity], lines, { log: false }).window[1]).toBeLessThan(11);
});

test("a running run shows the smallest half, quarter ... that contains its samples", () => {
  vi.stubGlobal("requestAnimationFrame", () => 1);
  const span = new Span([0, 64]);
  const ends = [0.1, 0.9, 1, 3, 40, null].map((front) => {
    span.grow(front);
    return span.shown[1];
  });
  expect(ends).toEqual([0.125, 1, 2, 4, 64, 64]);
});

test("the binary form of the service is parsed", () => {
  const head = JSON.stringify({ series: [{ measure: "cwnd", of: "a", count: 2 }] });
  const length = Math.ceil((head.length + 4) / 8) * 8 - 4;
  const content = new ArrayBuffer(4 + length + 32);
  new DataView(content).setUint32(0, length, true);
  new Uint8Array(content).set(new TextEncoder().encode(head.padEnd(length)), 4);
  new Float64Array(content, 4 + length).set([0.5, 1.5, 10, 20]);
  const found = readSeries(content).get(keyOf("cwnd", "a"));
  expect([...(found?.t ?? [])]).toEqual([0.5, 1.5]);
  expect([...(found?.v ?? [])]).toEqual([10, 20]);
});

test("many lines get fewer points each, but never too few", () => {
  expect([1, 2, 50, 1000].map(pointsFor)).toEqual([2000, 2000, 480, 400]);
});

test("values and ticks are in the field's units", () => {
  expect(QUANTITIES.goodput.say(93_250_000)).toBe("93.25 Mbit/s");
  expect(QUANTITIES.cwnd.say(1234)).toBe("1234 packets");
  expect(QUANTITIES.rtt.say(null)).toBe("–");
  expect([QUANTITIES.queue.say(1), QUANTITIES.queue.ticks([0, 1]).at(-1)]).toEqual(["1 packet", "1 packet"]);
  expect(QUANTITIES.goodput.ticks([0, 5e7, 1e8])).toEqual(["0", "50 Mbit/s", "100 Mbit/s"]);
  expect(QUANTITIES.cwnd.ticks([0, 10_000, 20_000])).toEqual(["0", "10k", "20k packets"]);
  expect(SECONDS.ticks([1.5, 1.75, 2])).toEqual(["1.50 s", "1.75 s", "2.00 s"]);
  expect(ticksIn([0, 10])).toEqual([0, 2, 4, 6, 8, 10]);
});

test("the file of a chart contains what the chart shows", () => {
  const options = {
    title: "A <b>",
    x: SECONDS,
    y: QUANTITIES.cwnd,
    window: [1, 2] as const,
    log: false,
    lines: [{ name: 'one, "two"', place: 0, dash: [], samples: samples([0.5, 1, 1.5, 2.5], [1, 2, 3, 4]) }],
  };
  expect(csvOf(options).split("\n")).toEqual([
    "line,Time (s),Congestion window (packets)",
    '"one, ""two""",0.5,1',
    '"one, ""two""",1,2',
    '"one, ""two""",1.5,3',
    '"one, ""two""",2.5,4',
    "",
  ]);
  const svg = figure({
    ...options,
    marks: [{ t: 1.5, text: "<half>", strong: true, place: null, colour: null, sign: "change" }],
    drops: [1.25],
    shaded: [[0, 1.5]],
  });
  expect(svg).toContain("A &#60;b&#62;");
  expect(svg).not.toMatch(/NaN|undefined/);
  // The signs in sight, each with its meaning.
  for (const text of ["a scheduled change of the path", "packets dropped by the queue", "(warmup)", "&#60;half&#62;"]) {
    expect(svg).toContain(text);
  }
  expect(figure(options)).not.toContain("packets dropped");
});

test("the key has only the signs in sight", () => {
  const threshold = line("one, threshold", samples([4, 5], [7, 7]), { silent: true, sign: "threshold" });
  const drawn = {
    lines: [line("one", samples([0, 9], [1, 2])), threshold],
    marks: [{ t: 3, text: "", strong: false, place: 0, colour: "", sign: "flow" as const }],
    rug: (window: readonly [number, number]) => risesOf(samples([0, 6, 7, 8], [0, 0, 2, 2]), window),
    shaded: [[0, 1]] as const,
  };
  expect(signsIn(drawn, [0, 10])).toEqual(["threshold", "flow", "drop", "excluded"]);
  expect(signsIn(drawn, [1.5, 3.5])).toEqual(["threshold", "flow"]);
  expect(signsIn(drawn, [7.5, 10])).toEqual([]);
  expect(signsIn({ ...drawn, lines: [] }, [8, 10])).toEqual([]);
  // A reference far above all values is not drawn, so it is not explained.
  const bdp = (v: number) => line("BDP", samples([0, 9], [v, v]), { reference: true, sign: "bdp" });
  expect(signsIn({ ...drawn, lines: [...drawn.lines, bdp(2)] }, [8, 10])).toEqual(["bdp"]);
  expect(signsIn({ ...drawn, lines: [...drawn.lines, bdp(900)] }, [8, 10])).toEqual([]);
});

test("the legend has the last value, the mean by time and the maximum of the window", () => {
  const sawtooth = line("one", samples([0, 2, 2, 4, 10], [0, 10, 0, 10, 10]));
  expect(statisticsOf(sawtooth, [0, 4])).toEqual({ last: 10, mean: 5, greatest: 10, rise: 10 });
  expect(statisticsOf(sawtooth, [1, 2])).toMatchObject({ mean: 7.5 });
  // Between two samples the line is known.
  expect(statisticsOf(sawtooth, [5, 6])).toEqual({ last: 10, mean: 10, greatest: 10, rise: 0 });
  expect(statisticsOf(line("none", samples([], [])), [0, 1]).mean).toBeNull();
  expect(statisticsOf(line("single", samples([1], [3])), [0, 2])).toEqual({ last: 3, mean: 3, greatest: 3, rise: 3 });
});

test("the tooltip has the largest value first, and lines without one last", () => {
  const lines = [line("late", samples([5], [9])), line("low", samples([0], [1])), line("high", samples([0], [2]))];
  expect(sortedAt(lines, [0, 10], 3).map((one) => [one.line.name, one.value])).toEqual([
    ["high", 2],
    ["low", 1],
    ["late", null],
  ]);
});

test("the table of a chart has the samples of the window, or evenly spaced times", () => {
  const few = rowsOf([line("one", samples([0, 1, 2, 3], [0, 10, 20, 30])), line("two", samples([1.5], [5]))], [1, 2]);
  expect(few).toEqual([
    { t: 1, values: [10, null] },
    { t: 1.5, values: [10, 5] },
    { t: 2, values: [20, 5] },
  ]);
  const many = Float64Array.from({ length: 5000 }, (_, at) => at);
  const rows = rowsOf([line("one", { t: many, v: many })], [0, 4999]);
  expect(rows).toHaveLength(MOST_ROWS);
  expect([rows[0]?.t, rows.at(-1)?.values]).toEqual([0, [4999]]);
});

test("lines on the same values are on top in turn, and others stay as they are", () => {
  const flat = (y: number) => bandOf([0, 12], [y, y], 12);
  expect(stripesOf([flat(5), flat(5.5), flat(50)], 2)).toEqual([
    [[0, 2], [4, 6], [8, 10]],
    [[2, 4], [6, 8], [10, 12]],
    [],
  ]); // biome-ignore format: one look
  // Three in turn, and only where all of them have values.
  const late = bandOf([6, 12], [5, 5], 12);
  expect(stripesOf([flat(5), flat(5), late], 3)[2]).toEqual([[6, 9]]);
  expect(stripesOf([flat(5)], 2)).toEqual([[]]);
});

test("keys move the pointer of a chart", () => {
  expect(steered("ArrowLeft", false, null)).toBeCloseTo(0.99);
  expect(steered("ArrowRight", false, null)).toBe(0);
  expect(steered("ArrowRight", true, 0.95)).toBe(1);
  expect(steered("Home", false, 0.3)).toBe(0);
  expect(steered("Escape", false, 0.3)).toBeNull();
  expect(steered("Escape", false, null)).toBeUndefined();
  expect(steered("l", false, 0.3)).toBeUndefined();
});
