/** The points of a sweep with some of their measures, and the axes on which they are placed: swept fields and measures. */
import type { Schemas } from "../../api/client";
import type { Window } from "../../charts/samples";
import { measureText, measureValue } from "../../data/measures";
import { pointText } from "../../data/runDocument";
import { shortField } from "../../data/runList";
import { extent, fieldScale, linear, roomy, type Scale } from "../../drawings/scale";
import { linkTo } from "../../navigation/hash";
import { spellNumber } from "../../units";

export type Sweep = Schemas["PointValues"];
export type SweepPoint = Sweep["points"][number];

/** A measure as one word: "goodput_bps@app". */
export function wordOf({ measure, flow }: { measure: string; flow: string | null }): string {
  return flow ? `${measure}@${flow}` : measure;
}

export function nameOf(word: string): string {
  const [measure = "", flow = ""] = word.split("@");
  return `${measureText(measure)}${flow && ` of ${flow}`}`;
}

export function sayMeasure(word: string, value: number | null | undefined): string {
  return measureValue(word.split("@")[0] ?? "", value);
}

/** An axis: a swept field, or a measure. */
export interface PointAxis {
  key: string;
  name: string;
  isField: boolean;
  scale: Scale;
  /** The place of a point on it; null without a value. */
  at: (point: SweepPoint) => number | null;
  say: (point: SweepPoint) => string;
  /** The ends of the interval of a measure. */
  interval: (point: SweepPoint) => readonly [number, number] | null;
  text: (value: number) => string;
}

export function fieldsOf(points: readonly SweepPoint[]): string[] {
  return [...new Set(points.flatMap(({ point }) => Object.keys(point)))];
}

export function fieldAxis(points: readonly SweepPoint[], field: string): PointAxis {
  const scale = fieldScale(points.map(({ point }) => point[field] ?? ""));
  return {
    key: field,
    name: shortField(field),
    isField: true,
    scale,
    at: ({ point }) => scale.number(point[field] ?? ""),
    say: ({ point }) => spellNumber(point[field] ?? "–"),
    interval: () => null,
    text: scale.text,
  };
}

/** `tight`: from the least to the greatest value, without room for intervals. */
export function measureAxis({ points, of }: Sweep, word: string, tight = false): PointAxis {
  const place = of.findIndex((one) => wordOf(one) === word);
  const values = points.flatMap(({ values }) => values[place]?.value ?? []);
  const ends = points.flatMap(({ values }) => [values[place]?.low ?? [], values[place]?.high ?? []].flat());
  return {
    key: word,
    name: nameOf(word),
    isField: false,
    scale: linear(tight ? extent(values) : fromZero(roomy([...values, ...ends]), values)),
    at: ({ values }) => values[place]?.value ?? null,
    say: ({ values }) => {
      const found = values[place];
      if (!found) return "–";
      const interval = found.low === null ? "" : ` (${sayMeasure(word, found.low)} – ${sayMeasure(word, found.high)})`;
      return `${sayMeasure(word, found.value)}${interval}`;
    },
    interval: ({ values }) => {
      const found = values[place];
      return found?.low == null || found.high == null ? null : [found.low, found.high];
    },
    text: (value) => sayMeasure(word, value),
  };
}

/** An interval may reach below zero where no value can. */
function fromZero([low, high]: Window, values: readonly number[]): Window {
  return values.every((value) => value >= 0) ? [Math.max(0, low), high] : [low, high];
}

/** The view of a point: its run, or its repeats compared. */
export function linkOf({ runs }: SweepPoint): string {
  const [only] = runs;
  return runs.length === 1 && only !== undefined
    ? linkTo(["runs", only])
    : linkTo(["compare"], `runs=${runs.slice(0, 8).join()}`);
}

export function sayPoint(point: SweepPoint, axes: readonly PointAxis[]): string {
  const measures = axes.filter(({ isField }) => !isField).map((axis) => `${axis.name} ${axis.say(point)}`);
  return [pointText(point.point) || "the only point", ...measures].join("; ");
}

/** Rows of all points for a table and CSV. */
export function rowsOfPoints({ points, of }: Sweep) {
  const fields = fieldsOf(points);
  const heads = of.map(wordOf).flatMap((word) => [word, `${word} low`, `${word} high`]);
  return [
    [...fields, ...heads, "runs"],
    ...points.map(({ point, runs, values }) => [
      ...fields.map((field) => point[field] ?? ""),
      ...values.flatMap((one) => [one?.value ?? null, one?.low ?? null, one?.high ?? null]),
      runs.length,
    ]),
  ];
}

/** The points that no other one beats: none is as good in both and better in one. `signs` is 1 where more is better, -1 where less is. */
export function paretoOf(values: readonly (readonly [number, number])[], signs: readonly [number, number]): boolean[] {
  const good = values.map(([x, y]) => [x * signs[0], y * signs[1]] as const);
  return good.map(([x, y]) => !good.some(([a, b]) => a >= x && b >= y && (a > x || b > y)));
}
