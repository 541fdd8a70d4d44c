/** Any measure or field against any other: a mark for each point with the intervals of its repeats, coloured by a field, with the Pareto
 * front if it is wanted.
 */
import { memo, useMemo, useState } from "react";
import { Axes, type Axis, atX, atY, type Box, boxOf, round } from "../../drawings/Axes";
import { Drawing, type KeyEntry, type Place } from "../../drawings/Drawing";
import { inset } from "../../drawings/scale";
import { go } from "../../navigation/route";
import { flag, oneOf, text, useViewState } from "../../navigation/viewState";
import { LabelledSelect } from "../../parts/Select";
import { COLOURS } from "../../theme/palette";
import { strokeColour } from "../../theme/ramp";
import { useTheme } from "../../theme/theme";
import { count, spellNumber } from "../../units";
import styles from "./Explore.module.css";
import { MeasureSelect } from "./MeasureSelect";
import {
  fieldAxis,
  fieldsOf,
  linkOf,
  measureAxis,
  type PointAxis,
  paretoOf,
  rowsOfPoints,
  type Sweep,
  type SweepPoint,
  sayPoint,
  wordOf,
} from "./sweep";

const SIDES = ["more", "less"] as const;
const VIEW = {
  x: text(),
  y: text(),
  by: text(),
  front: flag(),
  xbest: oneOf(SIDES, "less"),
  ybest: oneOf(SIDES, "more"),
};
const HEIGHT = 420;
const NEAR_PX = 24;
/** Beyond the first and the last value of a field, as a share of its axis. */
const ROOM = 0.08;
/** How far marks of different colours are apart that have the same value of a field. */
const APART_PX = 7;

interface Props {
  sweep: Sweep;
  of: readonly string[];
  file: string;
  onOf: (of: readonly string[]) => void;
}

export function Scatter({ sweep, of, file, onOf }: Props) {
  const theme = useTheme();
  const [view, setView] = useViewState(VIEW);
  const [found, setFound] = useState<number | null>(null);
  const { points } = sweep;
  const fields = fieldsOf(points);
  const known = [...fields, ...sweep.of.map(wordOf)];
  const first = of[0] ?? "";
  const xWord = known.includes(view.x) ? view.x : (of[1] ?? fields[0] ?? first);
  const yWord = known.includes(view.y) ? view.y : first;
  const by = fields.includes(view.by) ? view.by : (fields.find((field) => field !== xWord) ?? fields[0] ?? "");
  const axisOf = (word: string): PointAxis => {
    if (!fields.includes(word)) return measureAxis(sweep, word);
    const axis = fieldAxis(points, word);
    return { ...axis, scale: inset(axis.scale, ROOM) };
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: made of the points and the words
  const [x, y] = useMemo(() => [axisOf(xWord), axisOf(yWord)] as const, [sweep, xWord, yWord]);
  const colours = useMemo(() => coloursOf(points, by, theme), [points, by, theme]);
  const placed = useMemo(() => points.map((point) => [x.at(point), y.at(point)] as const), [points, x, y]);
  const front = useMemo(() => {
    if (!view.front) return null;
    const ids = placed.flatMap(([a, b], at) => (a === null || b === null ? [] : [at]));
    const values = ids.map((at) => [placed[at]?.[0] ?? 0, placed[at]?.[1] ?? 0] as const);
    const best = paretoOf(values, [view.xbest === "more" ? 1 : -1, view.ybest === "more" ? 1 : -1]);
    return ids.filter((_, at) => best[at]);
  }, [view.front, view.xbest, view.ybest, placed]);
  const choose = (side: "x" | "y") => (word: string) => {
    // A measure that is not read yet joins those of the page.
    if (!known.includes(word)) onOf([...of, word].slice(-8));
    setView({ [side]: word });
  };
  const axes = [x, y];
  const pointed = found === null ? undefined : points[found];
  const byWhich = (width: number) => (place: Place) => nearest(place, placed, boxOf(width, HEIGHT), x, y);
  return (
    <>
      <div className={styles.controls}>
        <MeasureSelect label="Across" value={xWord} measures={sweep.measures} fields={fields} onChange={choose("x")} />
        <MeasureSelect label="Up" value={yWord} measures={sweep.measures} fields={fields} onChange={choose("y")} />
        {fields.length > 0 && (
          <LabelledSelect label="Colour" value={by} choices={fields} onChange={(field) => setView({ by: field })} />
        )}
        <label>
          <input type="checkbox" checked={view.front} onChange={(event) => setView({ front: event.target.checked })} />{" "}
          Pareto front
        </label>
        {view.front &&
          (["xbest", "ybest"] as const).map((side) => (
            <LabelledSelect
              key={side}
              label={side === "xbest" ? "Better across" : "Better up"}
              value={view[side]}
              choices={SIDES}
              onChange={(one) => setView({ [side]: one })}
            />
          ))}
      </div>
      <Drawing
        title={`${y.name} against ${x.name}`}
        file={`${file}-scatter`}
        height={HEIGHT}
        found={pointed ? sayPoint(pointed, axes) : `${count(points.length)} points`}
        onPoint={(place, width) => setFound(place && byWhich(width)(place))}
        onPress={() => {
          if (pointed) go(linkOf(pointed));
        }}
        onKey={({ key }) => {
          const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
          if (step !== undefined) {
            setFound(Math.max(0, Math.min(points.length - 1, found === null ? 0 : found + step)));
            return true;
          }
          if (key !== "Enter" || !pointed) return false;
          go(linkOf(pointed));
          return true;
        }}
        rows={() => rowsOfPoints(sweep)}
        keys={keysOf(points, by, colours, axes, view.front)}
      >
        {(width) => {
          const box = boxOf(width, HEIGHT);
          const [first, second] = found === null ? [null, null] : (placed[found] ?? [null, null]);
          return (
            <>
              <Axes box={box} x={drawnAxis(x)} y={drawnAxis(y)} />
              <Marks points={points} placed={placed} colours={colours} x={x} y={y} box={box} />
              {front && <Front placed={front.map((at) => placed[at] ?? [0, 0])} x={x} y={y} box={box} />}
              {first !== null && second !== null && (
                <circle
                  cx={atX(box, x.scale, first)}
                  cy={atY(box, y.scale, second)}
                  r="9"
                  fill="none"
                  stroke="var(--text)"
                  strokeWidth="2"
                  data-pointer=""
                />
              )}
            </>
          );
        }}
      </Drawing>
    </>
  );
}

function drawnAxis(axis: PointAxis): Axis {
  return { scale: axis.scale, name: axis.name, texts: (values) => values.map(axis.text) };
}

/** The colour and the shape of each point by its value of a field: eight colours for words, a ramp for more values. */
function coloursOf(points: readonly SweepPoint[], field: string, theme: "light" | "dark"): readonly Look[] {
  const scale = fieldAxis(points, field);
  const values = new Set(points.map(({ point }) => point[field] ?? ""));
  const order = [...values].sort((a, b) => placeOf(scale, a, field) - placeOf(scale, b, field));
  return points.map(({ point }) => {
    const place = order.indexOf(point[field] ?? "");
    const colour =
      values.size <= COLOURS ? `var(--flow-${place})` : strokeColour(place / Math.max(1, values.size - 1), theme);
    const shape = values.size <= COLOURS ? place % SHAPES.length : 0;
    return { colour, shape, aside: values.size <= COLOURS ? place - (values.size - 1) / 2 : 0 };
  });
}

const placeOf = (axis: PointAxis, value: string, field: string): number =>
  axis.at({ point: { [field]: value }, runs: [], values: [] }) ?? 0;

interface Look {
  colour: string;
  shape: number;
  /** Its place among the colours, around 0. */
  aside: number;
}

const PLAIN: Look = { colour: "var(--text)", shape: 0, aside: 0 };

/** Marks around a place, so that values differ not by colour alone. */
const SHAPES: readonly string[] = [
  "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0",
  "m-4 -4h8v8h-8z",
  "m0 -5l5 9h-10z",
  "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
  "m0 5l5 -9h-10z",
  "m-5 -1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
];

const Marks = memo(function Marks({
  points,
  placed,
  colours,
  x,
  y,
  box,
}: {
  points: readonly SweepPoint[];
  placed: readonly (readonly [number | null, number | null])[];
  colours: readonly Look[];
  x: PointAxis;
  y: PointAxis;
  box: Box;
}) {
  return points.map((point, at) => {
    const [a, b] = placed[at] ?? [null, null];
    if (a === null || b === null) return null;
    const { colour, shape, aside } = colours[at] ?? PLAIN;
    const left = round(atX(box, x.scale, a) + (x.isField ? aside * APART_PX : 0));
    const top = round(atY(box, y.scale, b) + (y.isField && !x.isField ? aside * APART_PX : 0));
    const [across, up] = [x.interval(point), y.interval(point)];
    const within = (value: number, from: number, length: number): number =>
      round(Math.max(from, Math.min(from + length, value)));
    const wide = (value: number): number => within(atX(box, x.scale, value), box.left, box.width);
    const high = (value: number): number => within(atY(box, y.scale, value), box.top, box.height);
    const bars = [
      across && `M${wide(across[0])} ${top}H${wide(across[1])}`,
      up && `M${left} ${high(up[0])}V${high(up[1])}`,
    ];
    return (
      <g key={`${left} ${top} ${point.runs[0]}`}>
        <path d={bars.filter(Boolean).join("")} stroke={colour} strokeWidth="1" opacity="0.7" fill="none" />
        <path d={`M${left} ${top}${SHAPES[shape]}`} fill={colour} stroke="var(--surface)" strokeWidth="0.7" />
      </g>
    );
  });
});

function Front({
  placed,
  x,
  y,
  box,
}: {
  placed: readonly (readonly [number | null, number | null])[];
  x: PointAxis;
  y: PointAxis;
  box: Box;
}) {
  const sorted = [...placed].sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
  const path = sorted
    .map(([a, b]) => `${round(atX(box, x.scale, a ?? 0))} ${round(atY(box, y.scale, b ?? 0))}`)
    .join("L");
  return <path d={`M${path}`} fill="none" stroke="var(--text)" strokeWidth="1.2" strokeDasharray="5 3" />;
}

function keysOf(
  points: readonly SweepPoint[],
  field: string,
  colours: readonly Look[],
  axes: readonly PointAxis[],
  front: boolean,
): KeyEntry[] {
  const looks = new Map(points.map(({ point }, at) => [point[field] ?? "", colours[at]]));
  const scale = fieldAxis(points, field);
  const values = [...looks.keys()].sort((a, b) => placeOf(scale, a, field) - placeOf(scale, b, field));
  const shown = values.length <= COLOURS ? values : [values[0] ?? "", values.at(-1) ?? ""];
  const found: KeyEntry[] = shown.map((value) => ({
    sample: <path d={`M10 6${SHAPES[looks.get(value)?.shape ?? 0]}`} fill={looks.get(value)?.colour} />,
    text: `${scale.name} ${spellNumber(value)}`,
  }));
  if (points.some((point) => axes.some((axis) => axis.interval(point) !== null))) {
    found.push({ sample: <path d="M1 6h18M10 1v10" stroke="currentColor" />, text: "95 % interval over the repeats" });
  }
  if (front) {
    const dashed = <path d="M0 6h20" stroke="currentColor" strokeDasharray="5 3" />;
    found.push({ sample: dashed, text: "Pareto front: no other point is better in both" });
  }
  return found;
}

function nearest(
  place: Place,
  placed: readonly (readonly [number | null, number | null])[],
  box: Box,
  x: PointAxis,
  y: PointAxis,
): number | null {
  let [best, found]: [number, number | null] = [NEAR_PX, null];
  placed.forEach(([a, b], at) => {
    if (a === null || b === null) return;
    const away = Math.hypot(atX(box, x.scale, a) - place.x, atY(box, y.scale, b) - place.y);
    if (away < best) [best, found] = [away, at];
  });
  return found;
}
