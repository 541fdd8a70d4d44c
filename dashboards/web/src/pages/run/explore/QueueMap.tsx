/** How full queues are over time: the distribution of one queue in each stretch of time, or the means of all queues, as colour. */
import { memo, useCallback, useMemo, useState } from "react";
import type { Schemas } from "../../../api/client";
import { QUANTITIES } from "../../../charts/quantities";
import { placeOf } from "../../../charts/samples";
import type { Span } from "../../../charts/span";
import { type Axis, atX, atY, type Box, round } from "../../../drawings/Axes";
import { linear, type Scale } from "../../../drawings/scale";
import { TimeDrawing, useShown } from "../../../drawings/TimeDrawing";
import { ErrorNote } from "../../../parts/ErrorNote";
import { Select } from "../../../parts/Select";
import { Waiting } from "../../../parts/Waiting";
import { cellColour } from "../../../theme/ramp";
import { digits, percent } from "../../../units";

import { partOf, useOccupancy } from "./queries";
import { Ramp } from "./Ramp";

type Occupancy = Schemas["QueueOccupancy"];

interface Props {
  run: string;
  links: readonly string[];
  span: Span;
}

const HEIGHT = 260;
const COLOURS = 20;
const ALL = "*";

export function QueueMap({ run, links, span }: Props) {
  const [chosen, setChosen] = useState(links[0] ?? "");
  const shown = useShown(span);
  const all = chosen === ALL;
  const found = useOccupancy(run, all ? (links[0] ?? "") : chosen, partOf(shown, span.whole));
  const data = found.data;
  const edges = useMemo(() => Float64Array.from(data?.edges_s ?? []), [data]);
  const say = useCallback(
    (time: number): string => {
      if (data === undefined) return "";
      const at = Math.min(edges.length - 2, placeOf(edges, time + 1e-12) - 1);
      if (at < 0) return "";
      if (all) return data.links.map(({ link, mean }) => `${link} ${digits(mean[at] ?? 0)} packets`).join(", ");
      const link = data.links.find((one) => one.link === data.link);
      return `mean ${digits(link?.mean[at] ?? 0)} packets, at most ${digits(link?.greatest[at] ?? 0)}`;
    },
    [data, edges, all],
  );
  if (found.error) return <ErrorNote error={found.error} />;
  if (data === undefined) return <Waiting label="Reading the queue" height={`${HEIGHT + 80}px`} />;
  const y = all ? axisOfLinks(data) : axisOfPackets(data);
  const greatest = all ? Math.max(1, ...data.links.map((link) => fullest(link))) : 1;
  return (
    <TimeDrawing
      title={all ? "Mean queue of all links" : `Queue of ${data.link}: share of the time`}
      file={`${run}-${all ? "queues" : `queue-${data.link}`}`}
      span={span}
      height={HEIGHT}
      y={y}
      behind={(box, x) => <Cells data={data} all={all} box={box} x={x} y={y.scale} />}
      say={say}
      rows={() => (all ? rowsOfLinks(data) : rowsOfPackets(data))}
      keys={[
        {
          sample: <rect width="20" height="12" fill={cellColour(1).ground} />,
          text: all
            ? "the fuller a queue was, as a share of its limit, the lighter"
            : "the longer the queue was so long, the lighter",
        },
        ...(all
          ? []
          : [{ sample: <path d="M0 6h20" stroke="var(--bad)" strokeWidth="1.5" />, text: "mean of each stretch" }]),
      ]}
      tools={
        links.length > 1 && (
          <Select aria-label="Link" value={chosen} choices={[...links, [ALL, "all links"]]} onChange={setChosen} />
        )
      }
      foot={
        <Ramp
          from="0"
          to={all ? `${percent(greatest)} of the limit, or of the fullest` : "all of the time"}
          colours={COLOURS}
          colourAt={(share) => cellColour(share).ground}
        />
      }
    >
      {() => null}
    </TimeDrawing>
  );
}

/** Cells by classes of colour, one path each. */
const Cells = memo(function Cells({
  data,
  all,
  box,
  x,
  y,
}: {
  data: Occupancy;
  all: boolean;
  box: Box;
  x: Scale;
  y: Scale;
}) {
  const paths = Array.from({ length: COLOURS }, () => "");
  const lefts = data.edges_s.map((edge) => Math.max(box.left, Math.min(box.left + box.width, atX(box, x, edge))));
  const add = (column: number, low: number, high: number, share: number): void => {
    const [left = 0, right = 0] = [lefts[column], lefts[column + 1]];
    const [top, foot] = [atY(box, y, high), atY(box, y, low)];
    const place = Math.max(0, Math.min(COLOURS - 1, Math.round(share * (COLOURS - 1))));
    if (right > left)
      paths[place] += `M${left.toFixed(1)} ${round(top)}H${right.toFixed(1)}V${round(foot)}H${left.toFixed(1)}Z`;
  };
  if (all) {
    data.links.forEach((link, row) => {
      const whole = link.limit_packets || fullest(link) || 1;
      link.mean.forEach((mean, column) => {
        add(column, row - 0.45, row + 0.45, mean / whole);
      });
    });
  } else {
    data.shares.forEach((column, at) => {
      column.forEach((share, row) => {
        // The square root separates small shares, of which there are many.
        if (share > 0)
          add(at, (data.edges_packets[row] ?? 0) - 0.5, (data.edges_packets[row + 1] ?? 0) - 0.5, Math.sqrt(share));
      });
    });
  }
  const link = data.links.find((one) => one.link === data.link);
  const line = (link?.mean ?? [])
    .map((mean, at) => `${lefts[at]?.toFixed(1)} ${round(atY(box, y, mean))}H${lefts[at + 1]?.toFixed(1)}`)
    .join("L");
  return (
    <g>
      <rect x={box.left} y={box.top} width={box.width} height={box.height} fill="var(--raised)" />
      {paths.map((path, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: classes in order
        <path key={at} d={path} fill={cellColour(at / (COLOURS - 1)).ground} />
      ))}
      {!all && line !== "" && <path d={`M${line}`} fill="none" stroke="var(--bad)" strokeWidth="1.5" />}
    </g>
  );
});

function axisOfPackets({ edges_packets: edges, links, link }: Occupancy): Axis {
  const limit = links.find((one) => one.link === link)?.limit_packets ?? 0;
  const most = edges.at(-1) ?? 1;
  // The limit is in sight if the queue came near.
  return {
    scale: linear([-0.5, limit > 0 && limit < most * 1.3 ? Math.max(most, limit + 1) : most]),
    name: QUANTITIES.queue.name,
    texts: QUANTITIES.queue.ticks,
  };
}

function axisOfLinks({ links }: Occupancy): Axis {
  const scale = linear([-0.5, links.length - 0.5]);
  return {
    scale: { ...scale, ticks: links.map((_, at) => at) },
    name: "Link",
    texts: (values) => values.map((value) => (links[value]?.link ?? "").slice(0, 11)),
  };
}

const fullest = (link: Occupancy["links"][number]): number => Math.max(0, ...link.mean) / (link.limit_packets || 1);

function rowsOfPackets({ edges_s, edges_packets, shares }: Occupancy) {
  const heads = [
    "from_s",
    "to_s",
    ...edges_packets.slice(0, -1).map((low, at) => `${low}..${(edges_packets[at + 1] ?? low + 1) - 1} packets`),
  ];
  return [heads, ...shares.map((column, at) => [edges_s[at] ?? 0, edges_s[at + 1] ?? 0, ...column])];
}

function rowsOfLinks({ edges_s, links }: Occupancy) {
  const heads = ["from_s", "to_s", ...links.flatMap(({ link }) => [`${link}, mean packets`, `${link}, most packets`])];
  const stretches = edges_s
    .slice(0, -1)
    .map((from, at) => [
      from,
      edges_s[at + 1] ?? from,
      ...links.flatMap(({ mean, greatest }) => [mean[at] ?? 0, greatest[at] ?? 0]),
    ]);
  return [heads, ...stretches];
}
