/** The time-sequence diagram of a flow: of captured packets every segment, acknowledgement and SACK block, otherwise what the trace has. */
import { memo, useCallback, useState } from "react";
import type { Schemas } from "../../../api/client";
import { useMay } from "../../../api/session";
import type { Span } from "../../../charts/span";
import { type Axis, atX, atY, type Box, dots, round } from "../../../drawings/Axes";
import type { KeyEntry } from "../../../drawings/Drawing";
import { extent, linear, type Scale } from "../../../drawings/scale";
import { TimeDrawing, useShown } from "../../../drawings/TimeDrawing";
import { Button } from "../../../parts/Button";
import { ErrorNote } from "../../../parts/ErrorNote";
import { Select } from "../../../parts/Select";
import { Waiting } from "../../../parts/Waiting";
import { count, size } from "../../../units";
import { useCapture } from "../runQueries";
import { partOf, useSequence } from "./queries";

type Diagram = Schemas["SequenceDiagram"];
type Trace = Schemas["TraceSequence"];
type Packets = Schemas["CapturedSequence"];

interface Props {
  run: string;
  flow: string;
  span: Span;
  /** Whether the run can run again for its packets. */
  captures: boolean;
}

const HEIGHT = 320;
/** The least height of a segment sent again: there are few, and they matter. */
const AGAIN_PX = 5;

export function SequencePlot({ run, flow, span, captures }: Props) {
  const shown = useShown(span);
  const [ofPackets, setOfPackets] = useState(true);
  const capture = useCapture(run);
  const found = useSequence(run, flow, ofPackets, partOf(shown, span.whole), capture.isSuccess);
  const mayRun = useMay("run");
  const data = found.data;
  const say = useCallback((time: number): string => (data === undefined ? "" : sayAt(data, time)), [data]);
  if (found.error) return <ErrorNote error={found.error} />;
  if (data === undefined) return <Waiting label="Reading the sequence" height={`${HEIGHT + 100}px`} />;
  const y = axisOf(data);
  return (
    <TimeDrawing
      title={`Sequence of ${flow}, from ${data.packets ? "captured packets" : "the trace"}`}
      file={`${run}-${flow}-sequence`}
      span={span}
      height={HEIGHT}
      y={y}
      say={say}
      keys={data.packets ? KEYS_OF_PACKETS : KEYS_OF_TRACE}
      rows={() => (data.packets ? rowsOfPackets(data.packets) : rowsOfTrace(data.trace))}
      tools={
        data.captured && (
          <Select
            aria-label="Source of the diagram"
            value={ofPackets ? "packets" : "trace"}
            choices={[["packets", "captured packets"], "trace"]}
            onChange={(source) => setOfPackets(source === "packets")}
          />
        )
      }
      foot={
        <div className="foot">
          <p>{about(data)}</p>
          {!data.captured && captures && mayRun && !capture.isSuccess && (
            <p>
              Segments and SACK blocks need packets.{" "}
              <Button
                busy={capture.isPending}
                onClick={() => capture.mutate({ at: [data.sender], snap: null, flows: [flow] } as Schemas["Capture"])}
              >
                Capture {flow}
              </Button>{" "}
              runs the run once more for them; it keeps its id and its trace.
            </p>
          )}
          {capture.isSuccess && !data.captured && (
            <p role="status">The run is queued for its packets; the diagram shows them when it has run.</p>
          )}
          {capture.error && <ErrorNote error={capture.error} />}
        </div>
      }
    >
      {(box, x) =>
        data.packets ? (
          <Segments packets={data.packets} box={box} x={x} y={y.scale} />
        ) : (
          data.trace && <Curves trace={data.trace} box={box} x={x} y={y.scale} />
        )
      }
    </TimeDrawing>
  );
}

function about({ packets, trace }: Diagram): string {
  if (packets) {
    const left = packets.of_segments - packets.segment_t_s.length;
    return (
      `${count(packets.of_segments)} segments seen at ${packets.place}, ${count(packets.retransmissions)} of them sent again, ` +
      `${count(packets.of_sacks)} SACK blocks.${left > 0 ? ` ${count(left)} segments are not drawn; zoom in for all.` : ""}`
    );
  }
  const again = (trace?.retransmitted ?? []).reduce((sum, one) => sum + one, 0);
  return (
    `From the trace: ${count(again)} retransmissions, ${count(trace?.drop_t_s.length ?? 0)} lost packets. The trace counts them ` +
    "and does not know their bytes: a retransmission is marked at the acknowledged byte when an ACK found the count higher."
  );
}

function axisOf({ packets, trace }: Diagram): Axis {
  const window = packets
    ? extent([...packets.segment_from, ...packets.segment_to, ...packets.acked_bytes])
    : extent([...(trace?.acked_bytes ?? []), ...(trace?.sent_bytes ?? [])]);
  const like = window[1];
  return {
    scale: linear(window[1] > window[0] ? window : [0, 1]),
    name: "Bytes from the first one",
    texts: (values) => values.map((value) => size(value, like)),
  };
}

const clipX = (box: Box, x: Scale, t: number): number =>
  Math.max(box.left, Math.min(box.left + box.width, atX(box, x, t)));

function steps(times: readonly number[], values: readonly number[], box: Box, x: Scale, y: Scale): string {
  return times
    .map(
      (t, at) =>
        `${at === 0 ? "M" : "H"}${clipX(box, x, t).toFixed(1)}${at === 0 ? " " : "V"}${round(atY(box, y, values[at] ?? 0))}`,
    )
    .join("");
}

const Segments = memo(function Segments({ packets, box, x, y }: { packets: Packets; box: Box; x: Scale; y: Scale }) {
  const [fresh, again]: [string[], string[]] = [[], []];
  packets.segment_t_s.forEach((t, at) => {
    const [low, high] = [atY(box, y, packets.segment_from[at] ?? 0), atY(box, y, packets.segment_to[at] ?? 0)];
    const least = packets.again[at] ? AGAIN_PX : 1;
    const line = `M${clipX(box, x, t).toFixed(1)} ${low.toFixed(1)}V${Math.min(high, low - least).toFixed(1)}`;
    (packets.again[at] ? again : fresh).push(line);
  });
  const sacks = packets.sack_t_s.map((t, at) => {
    const [low, high] = [atY(box, y, packets.sack_from[at] ?? 0), atY(box, y, packets.sack_to[at] ?? 0)];
    return `M${clipX(box, x, t).toFixed(1)} ${low.toFixed(1)}V${Math.min(high, low - 1).toFixed(1)}`;
  });
  return (
    <g fill="none">
      <path d={sacks.join("")} stroke="var(--flow-3)" strokeWidth="1" />
      <path d={fresh.join("")} stroke="var(--text-2)" strokeWidth="1.2" />
      <path d={steps(packets.ack_t_s, packets.acked_bytes, box, x, y)} stroke="var(--flow-2)" strokeWidth="1.2" />
      <path d={again.join("")} stroke="var(--flow-5)" strokeWidth="3" />
    </g>
  );
});

const Curves = memo(function Curves({ trace, box, x, y }: { trace: Trace; box: Box; x: Scale; y: Scale }) {
  const again = trace.retransmit_t_s.map(
    (t, at) => [atX(box, x, t), atY(box, y, trace.retransmit_bytes[at] ?? 0)] as const,
  );
  const foot = box.top + box.height;
  return (
    <g fill="none">
      <path d={steps(trace.t_s, trace.sent_bytes, box, x, y)} stroke="var(--text-2)" strokeWidth="1.2" />
      <path d={steps(trace.t_s, trace.acked_bytes, box, x, y)} stroke="var(--flow-2)" strokeWidth="1.4" />
      <path d={dots(again)} stroke="var(--flow-5)" strokeWidth="6" strokeLinecap="round" />
      <path d={trace.drop_t_s.map((t) => `M${clipX(box, x, t).toFixed(1)} ${foot}v-7`).join("")} stroke="var(--bad)" />
    </g>
  );
});

const line = (colour: string, width = 1.5) => <path d="M0 6h20" stroke={`var(${colour})`} strokeWidth={width} />;
const KEYS_OF_TRACE: readonly KeyEntry[] = [
  { sample: line("--text-2"), text: "acknowledged and in flight" },
  { sample: line("--flow-2"), text: "acknowledged" },
  { sample: <circle cx="10" cy="6" r="3" fill="var(--flow-5)" />, text: "sent again" },
  { sample: <path d="M6 12v-7M10 12v-7M14 12v-7" stroke="var(--bad)" />, text: "packets of the flow lost" },
];
const KEYS_OF_PACKETS: readonly KeyEntry[] = [
  {
    sample: <path d="M10 1v10" stroke="var(--text-2)" strokeWidth="1.5" />,
    text: "segment, from its first to its last byte",
  },
  { sample: <path d="M10 1v10" stroke="var(--flow-5)" strokeWidth="3" />, text: "segment sent again" },
  { sample: line("--flow-2"), text: "acknowledged" },
  { sample: <path d="M10 1v10" stroke="var(--flow-3)" strokeWidth="1.5" />, text: "SACK block, when it arrived" },
];

function sayAt({ packets, trace }: Diagram, time: number): string {
  const [times, acked] = packets
    ? [packets.ack_t_s, packets.acked_bytes]
    : [trace?.t_s ?? [], trace?.acked_bytes ?? []];
  const at = times.findLastIndex((t) => t <= time);
  if (at < 0) return "nothing acknowledged yet";
  const sent = trace ? `, with those in flight ${size(trace.sent_bytes[at] ?? 0)}` : "";
  return `acknowledged ${size(acked[at] ?? 0)}${sent}`;
}

function rowsOfTrace(trace: Trace | null) {
  const rows = (trace?.t_s ?? []).map((t, at) => ["ack", t, trace?.acked_bytes[at] ?? 0, trace?.sent_bytes[at] ?? 0]);
  const again = (trace?.retransmit_t_s ?? []).map((t, at) => [
    `sent again: ${trace?.retransmitted[at] ?? 0}`,
    t,
    trace?.retransmit_bytes[at] ?? 0,
    null,
  ]);
  const lost = (trace?.drop_t_s ?? []).map((t) => ["lost", t, null, null]);
  return [["what", "t_s", "acknowledged (bytes)", "and in flight (bytes)"], ...rows, ...again, ...lost];
}

function rowsOfPackets(packets: Packets) {
  return [
    ["what", "t_s", "from (bytes)", "to (bytes)"],
    ...packets.segment_t_s.map((t, at) => [
      packets.again[at] ? "sent again" : "segment",
      t,
      packets.segment_from[at] ?? 0,
      packets.segment_to[at] ?? 0,
    ]),
    ...packets.ack_t_s.map((t, at) => ["ack", t, null, packets.acked_bytes[at] ?? 0]),
    ...packets.sack_t_s.map((t, at) => ["SACK", t, packets.sack_from[at] ?? 0, packets.sack_to[at] ?? 0]),
  ];
}
