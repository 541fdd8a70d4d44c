/** Runs on one time axis, one chart per quantity. */
import { useMemo } from "react";
import { Chart } from "../../charts/Chart";
import { type Measure, QUANTITIES } from "../../charts/quantities";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { endAll } from "../../store";
import { DASHES } from "../../theme/palette";
import { useTheme } from "../../theme/theme";
import styles from "./Compare.module.css";
import { linesOfRuns } from "./lines";
import { type Compared, useComparedSeries } from "./useCompared";

const MEASURES: readonly Measure[] = ["cwnd", "goodput", "rtt", "queue", "inflight", "retransmits"];

export function Overlay({ compared }: { compared: Compared }) {
  const theme = useTheme();
  const series = useComparedSeries(compared, MEASURES);
  const { span, sources, problem } = series;
  const charts = useMemo(
    () => MEASURES.map((measure) => ({ measure, lines: linesOfRuns(compared.runs, { sources }, measure, theme) })),
    [compared.runs, sources, theme],
  );
  const onMore = useMemo(() => moreOf([...sources.values()]), [sources]);
  if (problem) return <ErrorNote error={problem} />;
  if (sources.size === 0) return <Waiting label="Reading the traces" height="40rem" />;
  return (
    <>
      <FlowLegend compared={compared} />
      <div className="charts">
        {charts.map(({ measure, lines }) => (
          <Chart
            key={measure}
            title={QUANTITIES[measure].name}
            file={`compare-${measure}`}
            y={QUANTITIES[measure]}
            span={span}
            lines={lines}
            height={220}
            onMore={onMore}
          />
        ))}
      </div>
    </>
  );
}

/** Colours distinguish runs, dashes their flows. */
export function FlowLegend({ compared }: { compared: Compared }) {
  const most = Math.max(...compared.runs.map(({ outline }) => outline.flows.length));
  if (compared.runs.length < 2 || most < 2) return null;
  return (
    <ul className={styles.legend} aria-label="Dashes of flows">
      {DASHES.slice(0, most).map((dash, at) => (
        <li key={dash.join(" ")}>
          <svg width="30" height="4" aria-hidden="true">
            <path d="M0 2h30" stroke="currentColor" strokeWidth="2" strokeDasharray={dash.join(" ")} />
          </svg>
          {[...new Set(compared.runs.map(({ outline }) => outline.flows[at]?.name).filter(Boolean))]
            .slice(0, 3)
            .join(", ")}
        </li>
      ))}
    </ul>
  );
}

/** Subscribes to new samples of all sources. */
export function moreOf(sources: readonly { onMore: (listener: () => void) => () => void }[]) {
  return (listener: () => void): (() => void) => endAll(...sources.map((source) => source.onMore(listener)));
}
