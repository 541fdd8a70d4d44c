/** Phase plots of a flow: its window against its round trips, and against the queue of its bottleneck, with the time as colour. The pointer
 * and the window are those of the charts.
 */
import { memo, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { QUANTITIES, type Quantity, SECONDS, withUnit } from "../../../charts/quantities";
import { placeOf } from "../../../charts/samples";
import type { Span } from "../../../charts/span";
import { Axes, type Axis, atX, atY, type Box, boxOf, dots } from "../../../drawings/Axes";
import { Drawing, type Place } from "../../../drawings/Drawing";
import { linear, roomy, type Scale } from "../../../drawings/scale";
import { useShown } from "../../../drawings/TimeDrawing";
import { ErrorNote } from "../../../parts/ErrorNote";
import { Select } from "../../../parts/Select";
import { Waiting } from "../../../parts/Waiting";
import type { Theme } from "../../../theme/choice";
import { strokeColour } from "../../../theme/ramp";
import { useTheme } from "../../../theme/theme";
import styles from "./Explore.module.css";
import { partOf, usePhase } from "./queries";
import { Ramp } from "./Ramp";

interface Props {
  run: string;
  flow: string;
  span: Span;
}

interface Pairs {
  t: readonly number[];
  x: readonly number[];
  y: readonly number[];
}

const HEIGHT = 320;
/** Classes of time, each with a colour. */
const COLOURS = 24;
const AXES: readonly (readonly [name: string, quantity: Quantity])[] = [
  ["rtt", QUANTITIES.rtt],
  ["queue", QUANTITIES.queue],
  ["queue_delay", QUANTITIES.queue_delay],
  ["inflight", QUANTITIES.inflight],
];

export function PhasePlots({ run, flow, span }: Props) {
  const [across, setAcross] = useState<readonly string[]>(["rtt", "queue"]);
  return (
    <div className="charts">
      {across.map((name, at) => (
        <PhasePlot
          // biome-ignore lint/suspicious/noArrayIndexKey: two places
          key={at}
          run={run}
          flow={flow}
          span={span}
          across={name}
          onAcross={(chosen) => setAcross(across.map((one, place) => (place === at ? chosen : one)))}
        />
      ))}
    </div>
  );
}

function PhasePlot({
  run,
  flow,
  span,
  across,
  onAcross,
}: Props & { across: string; onAcross: (name: string) => void }) {
  const theme = useTheme();
  const shown = useShown(span);
  const found = usePhase(run, flow, across, "cwnd", partOf(shown, span.whole));
  const quantity = AXES.find(([name]) => name === across)?.[1] ?? QUANTITIES.rtt;
  const data = found.data;
  const pairs = useMemo(
    (): Pairs => ({ t: data?.t_s ?? [], x: data?.x_values ?? [], y: data?.y_values ?? [] }),
    [data],
  );
  const x = useMemo((): Axis => axisOf(quantity, pairs.x), [quantity, pairs]);
  const y = useMemo((): Axis => axisOf(QUANTITIES.cwnd, pairs.y), [pairs]);
  const onFind = useCallback(
    (write: (text: string) => void) =>
      span.onPoint(() => {
        const at = span.cursor === null ? -1 : nearestTime(pairs.t, span.cursor);
        write(at < 0 ? "" : sayPair(pairs, at, quantity));
      }),
    [span, pairs, quantity],
  );
  const point = (place: Place | null, width: number): void => {
    const at = place === null ? -1 : nearestPair(pairs, place, boxOf(width, HEIGHT), x.scale, y.scale);
    span.point(at < 0 ? null : shareOf(span, pairs.t[at] ?? 0));
  };
  const step = (by: number): void => {
    const now = span.cursor === null ? (by > 0 ? -1 : pairs.t.length) : nearestTime(pairs.t, span.cursor);
    const next = Math.max(0, Math.min(pairs.t.length - 1, now + by));
    if (pairs.t.length > 0) span.point(shareOf(span, pairs.t[next] ?? 0));
  };
  if (found.error) return <ErrorNote error={found.error} />;
  if (data === undefined) return <Waiting label="Reading the trace" height={`${HEIGHT + 80}px`} />;
  const where = across.startsWith("queue") ? ` of ${data.link}` : "";
  const left = data.of_values > pairs.t.length ? `, ${pairs.t.length} of ${data.of_values} ACKs with all extremes` : "";
  return (
    <Drawing
      title={`Window against ${quantity.name === "RTT" ? "RTT" : quantity.name.toLowerCase()}${where}`}
      file={`${run}-${flow}-cwnd-${across}`}
      height={HEIGHT}
      onPoint={point}
      onFind={onFind}
      onKey={({ key, shiftKey }) => {
        const by = { ArrowRight: 1, ArrowLeft: -1 }[key];
        if (by !== undefined) step(by * (shiftKey ? 10 : 1));
        return by !== undefined;
      }}
      rows={() => [
        ["t_s", `${across} (${data.x_unit})`, `cwnd (${data.y_unit})`],
        ...pairs.t.map((t, at) => [t, pairs.x[at] ?? null, pairs.y[at] ?? null]),
      ]}
      keys={[
        {
          sample: (
            <path d="M3 6h0M10 6h0M17 6h0" stroke={strokeColour(0.5, theme)} strokeWidth="4" strokeLinecap="round" />
          ),
          text: `a dot for each ACK${left}; the line joins them in time`,
        },
      ]}
      tools={
        <Select
          aria-label="Quantity across"
          value={across}
          choices={AXES.map(([name, one]) => [name, one.name] as const)}
          onChange={onAcross}
        />
      }
      foot={
        <Ramp
          from={SECONDS.say(shown[0])}
          to={SECONDS.say(shown[1])}
          colours={COLOURS}
          colourAt={(share) => strokeColour(share, theme)}
        />
      }
      over={(width) => <Ring span={span} pairs={pairs} box={boxOf(width, HEIGHT)} x={x.scale} y={y.scale} />}
    >
      {(width) => {
        const box = boxOf(width, HEIGHT);
        return (
          <>
            <Axes box={box} x={x} y={y} />
            <Dots pairs={pairs} box={box} x={x.scale} y={y.scale} from={shown[0]} to={shown[1]} theme={theme} />
          </>
        );
      }}
    </Drawing>
  );
}

/** The dots, by classes of time, over a faint line that joins them. */
const Dots = memo(function Dots({
  pairs,
  box,
  x,
  y,
  from,
  to,
  theme,
}: {
  pairs: Pairs;
  box: Box;
  x: Scale;
  y: Scale;
  from: number;
  to: number;
  theme: Theme;
}) {
  const places = pairs.t.map((_, at) => [atX(box, x, pairs.x[at] ?? 0), atY(box, y, pairs.y[at] ?? 0)] as const);
  const classes = Array.from({ length: COLOURS }, (): (readonly [number, number])[] => []);
  pairs.t.forEach((t, at) => {
    const place = places[at];
    const share = (t - from) / (to - from || 1);
    if (place) classes[Math.max(0, Math.min(COLOURS - 1, Math.floor(share * COLOURS)))]?.push(place);
  });
  return (
    <g fill="none" strokeLinecap="round">
      {places.length > 1 && (
        <path
          d={`M${places.map(([left, top]) => `${left.toFixed(1)} ${top.toFixed(1)}`).join("L")}`}
          stroke="var(--line-strong)"
          strokeWidth="0.5"
          opacity="0.5"
        />
      )}
      {classes.map((some, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: classes in order
        <path key={at} d={dots(some)} stroke={strokeColour(at / (COLOURS - 1), theme)} strokeWidth="4" />
      ))}
    </g>
  );
}, sameLook);

function sameLook(
  before: { pairs: Pairs; box: Box; theme: Theme },
  after: { pairs: Pairs; box: Box; theme: Theme },
): boolean {
  return before.pairs === after.pairs && before.box.width === after.box.width && before.theme === after.theme;
}

/** The pair at the pointer of the charts. */
function Ring({ span, pairs, box, x, y }: { span: Span; pairs: Pairs; box: Box; x: Scale; y: Scale }) {
  const ring = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    const move = (): void => {
      const at = span.cursor === null ? -1 : nearestTime(pairs.t, span.cursor);
      if (ring.current === null) return;
      ring.current.hidden = at < 0;
      ring.current.style.left = `${atX(box, x, pairs.x[at] ?? 0)}px`;
      ring.current.style.top = `${atY(box, y, pairs.y[at] ?? 0)}px`;
    };
    move();
    return span.onPoint(move);
  }, [span, pairs, box, x, y]);
  return <span ref={ring} className={styles.ring} hidden />;
}

function axisOf(quantity: Quantity, values: readonly number[]): Axis {
  return { scale: linear(roomy(values)), name: withUnit(quantity), texts: quantity.ticks };
}

function sayPair(pairs: Pairs, at: number, quantity: Quantity): string {
  const [t, x, y] = [pairs.t[at] ?? 0, pairs.x[at] ?? null, pairs.y[at] ?? null];
  return `${SECONDS.say(t)}: ${quantity.name} ${quantity.say(x)}, window ${QUANTITIES.cwnd.say(y)}`;
}

const shareOf = (span: Span, t: number): number => (t - span.shown[0]) / (span.shown[1] - span.shown[0]);

/** The index of the time nearest to another; -1 of none. */
function nearestTime(times: readonly number[], time: number): number {
  const next = placeOf(times, time);
  const before = next - 1;
  if (before < 0) return times.length > 0 ? 0 : -1;
  return next < times.length && (times[next] ?? 0) - time < time - (times[before] ?? 0) ? next : before;
}

function nearestPair(pairs: Pairs, place: Place, box: Box, x: Scale, y: Scale): number {
  let [best, found] = [Number.POSITIVE_INFINITY, -1];
  pairs.t.forEach((_, at) => {
    const away = Math.hypot(atX(box, x, pairs.x[at] ?? 0) - place.x, atY(box, y, pairs.y[at] ?? 0) - place.y);
    if (away < best) [best, found] = [away, at];
  });
  return found;
}
