/** Jain's index over time, from the goodput of the flows that compete in each bin of a tenth of a second or more. */
import { useMemo } from "react";
import { Chart } from "../../charts/Chart";
import type { Line } from "../../charts/line";
import { QUANTITIES } from "../../charts/quantities";
import type { Samples, Window } from "../../charts/samples";
import type { Outline } from "../../data/runDocument";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { flowStyle } from "../../theme/palette";
import { useTheme } from "../../theme/theme";
import { linesOfRuns } from "./lines";
import { moreOf } from "./Overlay";
import { jain } from "./statistics";
import { type Compared, useComparedSeries } from "./useCompared";

const MEASURES = ["goodput"] as const;

export function Fairness({ compared }: { compared: Compared }) {
  const theme = useTheme();
  const { span, sources, problem } = useComparedSeries(compared, MEASURES);
  const lines = useMemo(
    () =>
      compared.runs.flatMap((one, place): Line[] => {
        const source = sources.get(one.id);
        if (source === undefined) return [];
        return [
          {
            key: one.id,
            name: one.name,
            place,
            colour: flowStyle(place, theme).colour,
            dash: flowStyle(place, theme).dash,
            width: 1.5,
            samples: memoized(
              (window) => source.samples("goodput", one.outline.flows[0]?.name ?? "", window),
              (window) => jainOver(one.outline, (flow) => source.samples("goodput", flow, window)),
            ),
          },
        ];
      }),
    [compared.runs, sources, theme],
  );
  const goodput = useMemo(
    () => linesOfRuns(compared.runs, { sources }, "goodput", theme),
    [compared.runs, sources, theme],
  );
  const onMore = useMemo(() => moreOf([...sources.values()]), [sources]);
  if (problem) return <ErrorNote error={problem} />;
  if (sources.size === 0) return <Waiting label="Reading the traces" height="30rem" />;
  return (
    <>
      <Chart
        title="Jain’s index over time"
        file="fairness"
        y={QUANTITIES.jain}
        span={span}
        lines={lines}
        height={280}
        top={1}
        onMore={onMore}
      />
      <Chart
        title="Goodput"
        file="goodput"
        y={QUANTITIES.goodput}
        span={span}
        lines={goodput}
        height={220}
        onMore={onMore}
      />
    </>
  );
}

/** All flows of a run have the same bins; a bin with fewer than two competing flows has no index. */
export function jainOver(outline: Outline, goodput: (flow: string) => Samples): Samples {
  const flows = outline.flows.filter((flow) => flow.kind === "tcp" && flow.bytes === null);
  const series = flows.map((flow) => ({ flow, samples: goodput(flow.name) }));
  const times = series[0]?.samples.t ?? new Float64Array(0);
  const [t, v]: [number[], number[]] = [[], []];
  times.forEach((time, at) => {
    const there = series.filter(
      ({ flow }) => flow.start_s <= time && time <= (flow.stop_s ?? Number.POSITIVE_INFINITY),
    );
    if (there.length < 2) return;
    t.push(time);
    v.push(jain(there.map(({ samples }) => samples.v[at] ?? 0)));
  });
  return { t: Float64Array.from(t), v: Float64Array.from(v) };
}

/** A pan requests it with every frame; it is computed again only when its source changes. */
function memoized(
  from: (window: Window) => Samples,
  compute: (window: Window) => Samples,
): (window: Window) => Samples {
  let [last, known]: [Samples | null, Samples | null] = [null, null];
  return (window) => {
    const origin = from(window);
    if (known === null || origin !== last) [last, known] = [origin, compute(window)];
    return known;
  };
}
