/** The window of a flow before bands of its congestion control's state: BBR's phase or CUBIC's origin point, and the state of TCP. */
import { memo, useCallback, useEffect, useMemo, useState } from "react";
import type { Schemas } from "../../../api/client";
import { QUANTITIES } from "../../../charts/quantities";
import { extentOf, type Samples, valueAt, within } from "../../../charts/samples";
import type { Source } from "../../../charts/source";
import type { Span } from "../../../charts/span";
import { type Axis, atX, atY, type Box, round } from "../../../drawings/Axes";
import type { KeyEntry } from "../../../drawings/Drawing";
import { linear, type Scale } from "../../../drawings/scale";
import { TimeDrawing, useShown } from "../../../drawings/TimeDrawing";
import { ErrorNote } from "../../../parts/ErrorNote";
import { Waiting } from "../../../parts/Waiting";
import { percent } from "../../../units";
import { partOf, useStates } from "./queries";

type States = Schemas["FlowStates"];
type Stretch = States["tcp"]["stretches"][number];

interface Props {
  run: string;
  flow: string;
  source: Source;
  span: Span;
}

const HEIGHT = 280;
/** The band of TCP's state at the foot. */
const FOOT_PX = 12;
/** Each state has a colour and a pattern of its own, for those who do not rely on colour. */
const LOOKS: Readonly<Record<string, { colour: number; opacity: number; name: string; hatched?: boolean }>> = {
  startup: { colour: 1, opacity: 0.35, name: "startup" },
  drain: { colour: 5, opacity: 0.35, name: "drain", hatched: true },
  probe_bw: { colour: 4, opacity: 0.18, name: "probe_bw" },
  probe_rtt: { colour: 7, opacity: 0.4, name: "probe_rtt", hatched: true },
  other: { colour: 6, opacity: 0.2, name: "other gains" },
  open: { colour: 2, opacity: 0.5, name: "open" },
  disorder: { colour: 1, opacity: 0.8, name: "disorder" },
  cwr: { colour: 4, opacity: 0.9, name: "reducing (CWR)", hatched: true },
  recovery: { colour: 0, opacity: 0.9, name: "recovery" },
  loss: { colour: 5, opacity: 1, name: "loss (timeout)", hatched: true },
};

export function StatePlot({ run, flow, source, span }: Props) {
  const shown = useShown(span);
  const found = useStates(run, flow, partOf(shown, span.whole));
  const [version, setVersion] = useState(0);
  useEffect(() => source.onMore(() => setVersion((now) => now + 1)), [source]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: samples become finer without another identity
  const samples = useMemo(() => within(source.samples("cwnd", flow, shown), shown), [source, flow, shown, version]);
  const data = found.data;
  const say = useCallback(
    (time: number): string => {
      const window = valueAt(samples, time);
      const parts = [`window ${QUANTITIES.cwnd.say(window)}`];
      for (const states of [data?.own, data?.tcp]) {
        const state = states?.stretches.find(({ begin_s, end_s }) => time >= begin_s && time < end_s)?.state;
        if (states && state) parts.push(`${states.name} ${LOOKS[state]?.name ?? state}`);
      }
      const origin = data?.origin?.findLast(({ t_s }) => t_s <= time)?.packets;
      if (origin != null) parts.push(`origin point ${QUANTITIES.cwnd.say(origin)}`);
      return parts.join(", ");
    },
    [data, samples],
  );
  if (found.error) return <ErrorNote error={found.error} />;
  if (data === undefined) return <Waiting label="Reading the states" height={`${HEIGHT + 100}px`} />;
  const origin = (data.origin ?? []).flatMap(({ packets }) => packets ?? []);
  const [, most] = extentOf([samples]) ?? [0, 1];
  const y: Axis = {
    scale: linear([0, Math.max(most, ...origin) * 1.06 || 1]),
    name: "Window (packets)",
    texts: QUANTITIES.cwnd.ticks,
  };
  return (
    <TimeDrawing
      title={`States of ${flow}${data.cc ? ` (${data.cc})` : ""}`}
      file={`${run}-${flow}-states`}
      span={span}
      height={HEIGHT}
      y={y}
      behind={(box, x) => <Bands data={data} box={box} x={x} />}
      say={say}
      keys={keysOf(data)}
      rows={() => [
        ["of", "from_s", "to_s", "state or packets"],
        ...[data.own, data.tcp].flatMap((one) =>
          (one?.stretches ?? []).map(({ begin_s, end_s, state }) => [one?.name ?? "", begin_s, end_s, state]),
        ),
        ...(data.origin ?? []).map(({ t_s, packets }, at, all) => [
          "CUBIC origin point",
          t_s,
          all[at + 1]?.t_s ?? shown[1],
          packets,
        ]),
      ]}
      foot={<Foot data={data} />}
    >
      {(box, x) => <Window data={data} samples={samples} box={box} x={x} y={y.scale} end={shown[1]} />}
    </TimeDrawing>
  );
}

/** Where the state comes from, and the time in each. */
function Foot({ data }: { data: States }) {
  const thinned = data.tcp.thinned || data.own?.thinned;
  return (
    <div className="foot">
      <p>
        {data.about}.
        {thinned && " Many states are short: each part of the chart shows its longest one; zoom in for all."}
      </p>
      {[data.own, data.tcp].map(
        (one) => one && <p key={one.name}>{`${one.name}: ${timesOf(one)}; ${one.changes} changes`}</p>,
      )}
    </div>
  );
}

function timesOf({ seconds }: States["tcp"]): string {
  const whole = Object.values(seconds).reduce((sum, one) => sum + one, 0);
  return Object.entries(seconds)
    .map(([state, length]) => `${LOOKS[state]?.name ?? state} ${percent(length / whole)}`)
    .join(", ");
}

/** BBR's phases over the whole height, TCP's states at the foot. */
const Bands = memo(function Bands({ data, box, x }: { data: States; box: Box; x: Scale }) {
  const foot = box.top + box.height;
  return (
    <g>
      {data.own && (
        <Stretches stretches={data.own.stretches} box={box} x={x} top={box.top} height={box.height - FOOT_PX} />
      )}
      <Stretches stretches={data.tcp.stretches} box={box} x={x} top={foot - FOOT_PX} height={FOOT_PX} />
      <g fontSize="10" fill="var(--text-2)">
        {data.own?.stretches.map(({ begin_s, end_s, state }) => {
          const [left, right] = ends(begin_s, end_s, box, x);
          const name = LOOKS[state]?.name ?? state;
          return right - left > name.length * 6 ? (
            <text key={begin_s} x={round((left + right) / 2)} y={box.top + 11} textAnchor="middle">
              {name}
            </text>
          ) : null;
        })}
      </g>
    </g>
  );
});

/** Stretches by state, one path each. */
function Stretches({
  stretches,
  box,
  x,
  top,
  height,
}: {
  stretches: readonly Stretch[];
  box: Box;
  x: Scale;
  top: number;
  height: number;
}) {
  const paths = new Map<string, string>();
  for (const { begin_s, end_s, state } of stretches) {
    const [left, right] = ends(begin_s, end_s, box, x);
    // A state that is shorter than a pixel is still seen.
    const wide = Math.max(right - left, 0.6);
    paths.set(
      state,
      `${paths.get(state) ?? ""}M${left.toFixed(1)} ${top}h${wide.toFixed(2)}v${height}h${(-wide).toFixed(2)}Z`,
    );
  }
  return [...paths].map(([state, d]) => {
    const { colour = 6, opacity = 0.3, hatched = false } = LOOKS[state] ?? {};
    return (
      <g key={state}>
        <path d={d} fill={`var(--flow-${colour})`} fillOpacity={opacity} />
        {hatched && <path d={d} fill="none" stroke={`var(--flow-${colour})`} strokeDasharray="2 2" />}
      </g>
    );
  });
}

function ends(begin: number, end: number, box: Box, x: Scale): readonly [number, number] {
  const clip = (value: number): number => Math.max(box.left, Math.min(box.left + box.width, value));
  return [clip(atX(box, x, begin)), clip(atX(box, x, end))];
}

const Window = memo(function Window({
  data,
  samples,
  box,
  x,
  y,
  end,
}: {
  data: States;
  samples: Samples;
  box: Box;
  x: Scale;
  y: Scale;
  end: number;
}) {
  const points: string[] = [];
  samples.t.forEach((t, at) => {
    const [left] = ends(t, t, box, x);
    points.push(`${left.toFixed(1)} ${atY(box, y, samples.v[at] ?? 0).toFixed(1)}`);
  });
  const origin = (data.origin ?? []).map(({ t_s, packets }, at, all) => {
    if (packets === null) return "";
    const [left, right] = ends(t_s, all[at + 1]?.t_s ?? end, box, x);
    return `M${left.toFixed(1)} ${round(atY(box, y, packets))}H${right.toFixed(1)}`;
  });
  return (
    <g fill="none">
      {points.length > 1 && (
        <path d={`M${points.join("L")}`} stroke="var(--text)" strokeWidth="1.3" strokeLinejoin="round" />
      )}
      <path d={origin.join("")} stroke="var(--flow-5)" strokeWidth="2" strokeDasharray="5 2" />
    </g>
  );
});

function keysOf(data: States): KeyEntry[] {
  const line = <path d="M0 6h20" stroke="var(--text)" strokeWidth="1.5" />;
  const found: KeyEntry[] = [{ sample: line, text: "congestion window" }];
  if (data.origin) {
    const dashed = <path d="M0 6h20" stroke="var(--flow-5)" strokeWidth="2" strokeDasharray="5 2" />;
    found.push({ sample: dashed, text: "CUBIC’s origin point, to which the window grows back" });
  }
  const band = (where: string) => (state: string) => {
    const { colour = 6, opacity = 0.3, name = state, hatched = false } = LOOKS[state] ?? {};
    const fill = { fill: `var(--flow-${colour})`, fillOpacity: opacity };
    const frame = hatched ? { stroke: `var(--flow-${colour})`, strokeDasharray: "2 2" } : {};
    found.push({ sample: <rect x="1" y="1" width="18" height="10" {...fill} {...frame} />, text: `${where}: ${name}` });
  };
  Object.keys(data.own?.seconds ?? {}).forEach(band("BBR"));
  Object.keys(data.tcp.seconds).forEach(band("TCP, at the foot"));
  return found;
}
