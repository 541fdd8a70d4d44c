import { describe, expect, it } from "vitest";
import { fieldAxis, linkOf, measureAxis, paretoOf, rowsOfPoints, type Sweep, sayPoint } from "./sweep";

const value = (mean: number, low: number | null = null, high: number | null = null) => ({
  value: mean,
  low,
  high,
  runs: 2,
});
const SWEEP: Sweep = {
  of: [
    { measure: "goodput_bps", flow: "app" },
    { measure: "utilisation", flow: null },
  ],
  measures: [],
  points: [
    { point: { "path.rtt": "20 ms" }, runs: ["a"], values: [value(5e6, 4e6, 6e6), null] },
    { point: { "path.rtt": "80 ms" }, runs: ["b", "c"], values: [value(9e6), value(0.5)] },
  ],
};

describe("the axes of a sweep", () => {
  it("have the values of fields and measures, with room for intervals", () => {
    const [first] = SWEEP.points;
    if (!first) throw new Error("no point");
    const goodput = measureAxis(SWEEP, "goodput_bps@app");
    expect(goodput.at(first)).toBe(5e6);
    expect(goodput.interval(first)).toEqual([4e6, 6e6]);
    expect(goodput.say(first)).toBe("5 Mbit/s (4 Mbit/s – 6 Mbit/s)");
    expect(goodput.scale.window[1]).toBeGreaterThan(9e6);
    expect(measureAxis(SWEEP, "goodput_bps@app", true).scale.window).toEqual([5e6, 9e6]);
    expect(measureAxis(SWEEP, "utilisation").at(first)).toBeNull();
    const rtt = fieldAxis(SWEEP.points, "path.rtt");
    expect([rtt.name, rtt.at(first), rtt.say(first)]).toEqual(["rtt", 0.02, "20 ms"]);
    expect(sayPoint(first, [rtt, goodput])).toContain("rtt 20 ms; goodput of app 5 Mbit/s");
  });

  it("lead to the run of a point, or to its repeats", () => {
    expect(SWEEP.points.map(linkOf)).toEqual(["#/runs/a", "#/compare?runs=b,c"]);
  });

  it("make rows of all points", () => {
    expect(rowsOfPoints(SWEEP)[1]).toEqual(["20 ms", 5e6, 4e6, 6e6, null, null, null, 1]);
  });
});

describe("the Pareto front", () => {
  it("has the points that no other one beats", () => {
    const points = [
      [1, 1],
      [2, 3],
      [3, 2],
      [2, 2],
    ] as const;
    expect(paretoOf(points, [1, 1])).toEqual([false, true, true, false]);
    expect(paretoOf(points, [1, -1])).toEqual([true, false, true, false]);
    // Equal points do not beat each other.
    expect(paretoOf([points[1], points[1]], [1, 1])).toEqual([true, true]);
  });
});
