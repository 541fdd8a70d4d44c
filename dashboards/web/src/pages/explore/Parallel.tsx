/** Parallel coordinates: an axis for each swept field and chosen measure, a line for each point. A range on an axis leaves lines out; axes are
 * dragged to another place. All of it works by keys too, in the list of axes below.
 */
import { memo, type PointerEvent, useMemo, useRef, useState } from "react";
import { Drawing, type Place } from "../../drawings/Drawing";
import { go } from "../../navigation/route";
import { list, useViewState } from "../../navigation/viewState";
import { Button } from "../../parts/Button";
import type { Theme } from "../../theme/choice";
import { strokeColour } from "../../theme/ramp";
import { useTheme } from "../../theme/theme";
import { count } from "../../units";
import styles from "./Explore.module.css";
import { MeasureSelect } from "./MeasureSelect";
import { moved, placesOf, type Ranges, readRanges, writeRanges } from "./ranges";
import {
  fieldAxis,
  fieldsOf,
  linkOf,
  measureAxis,
  type PointAxis,
  rowsOfPoints,
  type Sweep,
  type SweepPoint,
  sayPoint,
} from "./sweep";

const VIEW = { axes: list(), keep: list() };
const [HEIGHT, TOP, FOOT, SIDE] = [380, 46, 24, 64];
const LEAST_APART = 96;
/** How near a line must be to the pointer. */
const NEAR_PX = 14;
const COLOURS = 16;

interface Props {
  sweep: Sweep;
  of: readonly string[];
  file: string;
  onOf: (of: readonly string[]) => void;
}

export function Parallel({ sweep, of, file, onOf }: Props) {
  const theme = useTheme();
  const [view, setView] = useViewState(VIEW);
  const [found, setFound] = useState<number | null>(null);
  const order = view.axes.join("\n");
  const axes = useMemo((): PointAxis[] => {
    const all = [
      ...fieldsOf(sweep.points).map((field) => fieldAxis(sweep.points, field)),
      ...of.map((word) => measureAxis(sweep, word, true)),
    ];
    const wanted = order.split("\n");
    const rank = ({ key }: PointAxis): number => (wanted.includes(key) ? wanted.indexOf(key) : wanted.length);
    return all.sort((a, b) => rank(a) - rank(b));
  }, [sweep, of, order]);
  const kept = view.keep.join("\n");
  const ranges = useMemo(() => readRanges(kept.split("\n")), [kept]);
  const isKept = useMemo(
    () =>
      sweep.points.map((point) =>
        axes.every((axis) => {
          const range = ranges.get(axis.key);
          if (range === undefined) return true;
          const value = axis.at(point);
          const share = value === null ? Number.NaN : axis.scale.share(value);
          return share >= range[0] - 1e-4 && share <= range[1] + 1e-4;
        }),
      ),
    [sweep, axes, ranges],
  );
  const colour = axes.find(({ key }) => key === of[0]) ?? axes[0];
  const setRange = (key: string, range: readonly [number, number] | null): void => {
    const next = new Map(ranges);
    if (range === null) next.delete(key);
    else next.set(key, range);
    setView({ keep: writeRanges(next) });
  };
  const move = (from: number, to: number): void =>
    setView({
      axes: moved(
        axes.map(({ key }) => key),
        from,
        to,
      ),
    });
  const dragged = useRef(false);
  const shown = sweep.points.flatMap((_, at) => (isKept[at] ? [at] : []));
  const pointed = found === null ? undefined : sweep.points[found];
  if (colour === undefined) return null;
  return (
    <>
      <Drawing
        title="Parallel coordinates"
        file={`${file}-parallel`}
        height={HEIGHT}
        leastWidth={axes.length * LEAST_APART + 2 * SIDE - LEAST_APART}
        found={pointed ? sayPoint(pointed, axes) : `${count(shown.length)} of ${count(sweep.points.length)} points`}
        onPoint={(place, width) => setFound(place && nearest(place, sweep.points, isKept, axes, width))}
        onPress={() => {
          if (pointed && !dragged.current) go(linkOf(pointed));
          dragged.current = false;
        }}
        onKey={({ key }) => {
          const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key];
          if (by !== undefined) {
            const now = found === null ? -1 : shown.indexOf(found);
            setFound(shown[Math.max(0, Math.min(shown.length - 1, now + by))] ?? null);
            return true;
          }
          if (key !== "Enter" || !pointed) return false;
          go(linkOf(pointed));
          return true;
        }}
        rows={() => rowsOfPoints({ ...sweep, points: sweep.points.filter((_, at) => isKept[at]) })}
        keys={[
          {
            sample: <path d="M0 9L20 3" stroke={strokeColour(1, theme)} strokeWidth="2" />,
            text: `a line for each point; colour: ${colour.name}, from ${colour.text(colour.scale.window[0])} (blue) to ${colour.text(colour.scale.window[1])} (yellow)`,
          },
        ]}
      >
        {(width) => (
          <>
            <Lines points={sweep.points} isKept={isKept} axes={axes} colour={colour} width={width} theme={theme} />
            {pointed && (
              <path d={pathOf(pointed, axes, width)} fill="none" stroke="var(--text)" strokeWidth="3" data-pointer="" />
            )}
            {axes.map((axis, at) => (
              <AxisLine
                key={axis.key}
                axis={axis}
                x={xOf(at, axes.length, width)}
                range={ranges.get(axis.key) ?? null}
                onRange={(range) => {
                  dragged.current = true;
                  setRange(axis.key, range);
                }}
                onMove={(x) => {
                  dragged.current = true;
                  move(at, slotOf(x, axes.length, width));
                }}
              />
            ))}
          </>
        )}
      </Drawing>
      <AxisList
        axes={axes}
        points={sweep.points}
        ranges={ranges}
        onRange={setRange}
        onMove={move}
        onRemove={of.length > 1 ? (key) => onOf(of.filter((word) => word !== key)) : undefined}
      />
      <div className={styles.controls}>
        {of.length < 8 && (
          <MeasureSelect
            label="Add an axis"
            value=""
            measures={sweep.measures}
            onChange={(word) => onOf([...of.filter((one) => one !== word), word])}
          />
        )}
        {ranges.size > 0 && <Button onClick={() => setView({ keep: [] })}>Remove all ranges</Button>}
      </div>
    </>
  );
}

const xOf = (at: number, axes: number, width: number): number =>
  axes < 2 ? width / 2 : SIDE + (at / (axes - 1)) * (width - 2 * SIDE);
const yOf = (share: number): number => TOP + (1 - share) * (HEIGHT - TOP - FOOT);
const slotOf = (x: number, axes: number, width: number): number =>
  Math.max(0, Math.min(axes - 1, Math.round(((x - SIDE) / (width - 2 * SIDE)) * (axes - 1))));

function pathOf(point: SweepPoint, axes: readonly PointAxis[], width: number): string {
  let [path, pen] = ["", "M"];
  axes.forEach((axis, at) => {
    const value = axis.at(point);
    if (value === null) pen = "M";
    else {
      path += `${pen}${xOf(at, axes.length, width).toFixed(1)} ${yOf(axis.scale.share(value)).toFixed(1)}`;
      pen = "L";
    }
  });
  return path;
}

/** Lines by classes of colour, one path each; those that are left out are behind. */
const Lines = memo(function Lines({
  points,
  isKept,
  axes,
  colour,
  width,
  theme,
}: {
  points: readonly SweepPoint[];
  isKept: readonly boolean[];
  axes: readonly PointAxis[];
  colour: PointAxis;
  width: number;
  theme: Theme;
}) {
  let behind = "";
  const classes = Array.from({ length: COLOURS }, () => "");
  points.forEach((point, at) => {
    const value = colour.at(point);
    const path = pathOf(point, axes, width);
    if (!isKept[at] || value === null) behind += path;
    else classes[Math.max(0, Math.min(COLOURS - 1, Math.floor(colour.scale.share(value) * COLOURS)))] += path;
  });
  const wide = points.length > 200 ? 1 : 1.6;
  return (
    <g fill="none" strokeLinejoin="round">
      <path d={behind} stroke="var(--line)" strokeWidth="1" />
      {classes.map((path, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: classes in order
        <path key={at} d={path} stroke={strokeColour(at / (COLOURS - 1), theme)} strokeWidth={wide} opacity="0.85" />
      ))}
    </g>
  );
});

interface AxisProps {
  axis: PointAxis;
  x: number;
  range: readonly [number, number] | null;
  onRange: (range: readonly [number, number] | null) => void;
  onMove: (x: number) => void;
}

/** An axis: dragged along, it gets a range; its name is dragged to another place. */
function AxisLine({ axis, x, range, onRange, onMove }: AxisProps) {
  const begin = useRef<number | null>(null);
  const [now, setNow] = useState<readonly [number, number] | null>(null);
  const [shift, setShift] = useState<number | null>(null);
  const shareAt = (event: PointerEvent<SVGElement>): number => {
    const top = event.currentTarget.ownerSVGElement?.getBoundingClientRect().top ?? 0;
    return Math.max(0, Math.min(1, 1 - (event.clientY - top - TOP) / (HEIGHT - TOP - FOOT)));
  };
  const drawn = now ?? range;
  const ticks = axis.scale.ticks.filter((tick) => axis.scale.share(tick) > -0.001 && axis.scale.share(tick) < 1.001);
  const ends = axis.isField ? ticks : axis.scale.window;
  const name = axis.name.length > 20 ? `${axis.name.slice(0, 19)}…` : axis.name;
  return (
    <g transform={shift === null ? undefined : `translate(${shift} 0)`}>
      <path d={`M${x} ${yOf(1)}V${yOf(0)}`} stroke="var(--line-strong)" />
      {drawn && (
        <rect
          x={x - 6}
          y={yOf(drawn[1])}
          width="12"
          height={Math.max(2, yOf(drawn[0]) - yOf(drawn[1]))}
          fill="var(--accent)"
          fillOpacity="0.3"
          stroke="var(--accent)"
        />
      )}
      {ends.map((tick) => (
        <text
          key={tick}
          x={x + 6}
          y={yOf(axis.scale.share(tick)) + 4}
          fontSize="11"
          fill="var(--text-2)"
          stroke="var(--surface)"
          strokeWidth="3"
          paintOrder="stroke"
        >
          {axis.text(tick)}
        </text>
      ))}
      <rect
        className={styles.brush}
        x={x - 12}
        y={TOP - 4}
        width="24"
        height={HEIGHT - TOP - FOOT + 8}
        fill="transparent"
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          begin.current = shareAt(event);
        }}
        onPointerMove={(event) => {
          if (begin.current === null) return;
          const share = shareAt(event);
          setNow([Math.min(begin.current, share), Math.max(begin.current, share)]);
        }}
        onPointerUp={() => {
          if (begin.current === null) return;
          // A press without a drag removes the range.
          onRange(now !== null && now[1] - now[0] > 0.01 ? now : null);
          begin.current = null;
          setNow(null);
        }}
      />
      <g
        className={styles.name}
        onPointerDown={(event) => {
          event.currentTarget.setPointerCapture(event.pointerId);
          setShift(0);
        }}
        onPointerMove={(event) => {
          if (shift === null) return;
          const left = event.currentTarget.ownerSVGElement?.getBoundingClientRect().left ?? 0;
          setShift(event.clientX - left - x);
        }}
        onPointerUp={() => {
          if (shift !== null && Math.abs(shift) > 4) onMove(x + shift);
          setShift(null);
        }}
      >
        <rect x={x - 60} y="4" width="120" height="26" fill="transparent" />
        <text x={x} y="22" textAnchor="middle" fontSize="12" fontWeight="600" fill="var(--text)">
          <title>{axis.name}</title>
          {name}
        </text>
      </g>
    </g>
  );
}

/** The same by keys: the ends of each range, and the order. */
function AxisList({
  axes,
  points,
  ranges,
  onRange,
  onMove,
  onRemove,
}: {
  axes: readonly PointAxis[];
  points: readonly SweepPoint[];
  ranges: Ranges;
  onRange: (key: string, range: readonly [number, number] | null) => void;
  onMove: (from: number, to: number) => void;
  onRemove: ((key: string) => void) | undefined;
}) {
  return (
    <ul className={styles.axes} aria-label="Axes">
      {axes.map((axis, at) => {
        const places = placesOf(points.flatMap((point) => axis.at(point) ?? []));
        const shares = places.map(axis.scale.share);
        const [least, greatest] = ranges.get(axis.key) ?? [Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY];
        const first = shares.findIndex((share) => share >= least - 1e-4);
        const final = shares.findLastIndex((share) => share <= greatest + 1e-4);
        const low = Math.max(0, first);
        const high = Math.max(low, final);
        const last = places.length - 1;
        const set = (from: number, to: number): void =>
          onRange(axis.key, from <= 0 && to >= last ? null : [shares[from] ?? 0, shares[to] ?? 1]);
        const slider = (end: "least" | "greatest", value: number, change: (value: number) => void) => (
          <label>
            <span className="unseen">{`${axis.name}, ${end}`}</span>
            <input
              type="range"
              min={0}
              max={Math.max(1, last)}
              value={value}
              disabled={last < 1}
              aria-valuetext={axis.text(places[value] ?? 0)}
              onChange={(event) => change(Number(event.target.value))}
            />
          </label>
        );
        return (
          <li key={axis.key}>
            <strong>{axis.name}</strong>
            {slider("least", low, (value) => set(value, Math.max(value, high)))}
            {slider("greatest", high, (value) => set(Math.min(low, value), value))}
            <span className="soft">
              {axis.text(places[low] ?? 0)} to {axis.text(places[high] ?? 0)}
            </span>
            <span className={styles.moves}>
              <button
                type="button"
                aria-label={`Move ${axis.name} left`}
                disabled={at === 0}
                onClick={() => onMove(at, at - 1)}
              >
                ←
              </button>
              <button
                type="button"
                aria-label={`Move ${axis.name} right`}
                disabled={at === axes.length - 1}
                onClick={() => onMove(at, at + 1)}
              >
                →
              </button>
              {!axis.isField && onRemove && (
                <button type="button" aria-label={`Remove ${axis.name}`} onClick={() => onRemove(axis.key)}>
                  ×
                </button>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

/** The point whose line is nearest to a place; null if none is near. */
function nearest(
  { x, y }: Place,
  points: readonly SweepPoint[],
  isKept: readonly boolean[],
  axes: readonly PointAxis[],
  width: number,
): number | null {
  const slot = Math.max(
    0,
    Math.min(axes.length - 2, Math.floor(((x - SIDE) / (width - 2 * SIDE)) * (axes.length - 1))),
  );
  const [left, right] = [axes[slot], axes[slot + 1] ?? axes[slot]];
  if (left === undefined || right === undefined) return null;
  const begin = xOf(slot, axes.length, width);
  const share =
    axes.length < 2 ? 0 : Math.max(0, Math.min(1, (x - begin) / (xOf(slot + 1, axes.length, width) - begin)));
  let [best, found]: [number, number | null] = [NEAR_PX, null];
  points.forEach((point, at) => {
    const [a, b] = [left.at(point), right.at(point)];
    if (!isKept[at] || a === null || b === null) return;
    const away = Math.abs(yOf(left.scale.share(a) * (1 - share) + right.scale.share(b) * share) - y);
    if (away < best) [best, found] = [away, at];
  });
  return found;
}
