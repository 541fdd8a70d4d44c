/** Cumulative distributions of RTT, goodput and queueing delay: for each value, the share of samples up to it. */
import { useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { answered, api } from "../../api/client";
import { Chart } from "../../charts/Chart";
import { MOST_LINES } from "../../charts/Legend";
import type { Line } from "../../charts/line";
import { QUANTITIES } from "../../charts/quantities";
import { Span } from "../../charts/span";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { DASHES, flowStyle } from "../../theme/palette";
import { useTheme } from "../../theme/theme";
import type { Compared, ComparedRun } from "./useCompared";

const MEASURES = ["rtt", "goodput", "queue_delay"] as const;
type Spread = (typeof MEASURES)[number];

export function Distributions({ compared }: { compared: Compared }) {
  return (
    <div className="charts">
      {MEASURES.map((measure) => (
        <Curves key={measure} measure={measure} runs={compared.runs} />
      ))}
    </div>
  );
}

function Curves({ measure, runs }: { measure: Spread; runs: readonly ComparedRun[] }) {
  const theme = useTheme();
  const { data, error, pending } = useQueries({
    queries: runs.map(({ id }) => ({
      queryKey: ["distribution", id, measure],
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: () =>
        answered(api.GET("/api/v1/runs/{id}/distributions", { params: { path: { id }, query: { measure } } })),
    })),
    combine: (results) => ({
      data: results.map((one) => one.data),
      error: results.find((one) => one.error)?.error,
      pending: results.some((one) => one.isPending),
    }),
  });
  const lines = useMemo(
    () =>
      runs.flatMap((one, place) =>
        (data[place]?.curves ?? []).map((curve, at, all): Line => {
          const own = runs.length === 1 ? at : place;
          const samples = { t: Float64Array.from(curve.value), v: Float64Array.from(curve.share) };
          return {
            key: `${one.id} ${curve.of}`,
            name: runs.length === 1 ? curve.of : all.length === 1 ? one.name : `${one.name}: ${curve.of}`,
            place: own,
            colour: flowStyle(own, theme).colour,
            dash: runs.length === 1 ? [] : (DASHES[at % DASHES.length] ?? []),
            width: 1.5,
            samples: () => samples,
          };
        }),
      ),
    [runs, data, theme],
  );
  const span = useMemo(() => {
    const ends = lines.map((line) => line.samples([0, 1]).t).filter((t) => t.length > 0);
    const [least, greatest] = [Math.min(...ends.map((t) => t[0] ?? 0)), Math.max(...ends.map((t) => t.at(-1) ?? 1))];
    const from = least > greatest * 0.5 ? least - (greatest - least) * 0.05 : 0;
    return new Span(ends.length > 0 ? [from, greatest > from ? greatest * 1.01 : from + 1] : [0, 1]);
  }, [lines]);
  if (error) return <ErrorNote error={error} />;
  if (pending) return <Waiting label={QUANTITIES[measure].name} height={`${heightRem(measure, runs)}rem`} />;
  return (
    <Chart
      title={QUANTITIES[measure].name}
      file={`distribution-${measure}`}
      x={QUANTITIES[measure]}
      y={QUANTITIES.share}
      span={span}
      lines={lines}
      height={240}
    />
  );
}

/** The height of the chart with its legend, so that it moves nothing when it arrives. */
function heightRem(measure: Spread, runs: readonly ComparedRun[]): number {
  const lines = runs.reduce((sum, { outline }) => sum + (measure === "queue_delay" ? 1 : outline.flows.length), 0);
  return 19.4 + 1.22 * Math.min(lines, MOST_LINES);
}
