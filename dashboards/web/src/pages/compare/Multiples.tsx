/** One quantity, with a chart for each run, all on the same scale. */
import { useMemo } from "react";
import { Chart } from "../../charts/Chart";
import { type Measure, QUANTITIES } from "../../charts/quantities";
import { extentOf } from "../../charts/samples";
import { oneOf, useViewState } from "../../navigation/viewState";
import { ErrorNote } from "../../parts/ErrorNote";
import { Segments } from "../../parts/Segments";
import { Waiting } from "../../parts/Waiting";
import { useTheme } from "../../theme/theme";
import styles from "./Compare.module.css";
import { linesOfRuns } from "./lines";
import { moreOf } from "./Overlay";
import { type Compared, useComparedSeries } from "./useCompared";

const MEASURES = ["cwnd", "goodput", "rtt", "queue", "inflight"] as const satisfies readonly Measure[];
const VIEW = { of: oneOf(MEASURES, "cwnd") };

export function Multiples({ compared }: { compared: Compared }) {
  const theme = useTheme();
  const [{ of }, setView] = useViewState(VIEW);
  const { span, sources, problem } = useComparedSeries(compared, MEASURES);
  const charts = useMemo(
    () => compared.runs.map((one) => ({ one, lines: linesOfRuns([one], { sources }, of, theme) })),
    [compared.runs, sources, of, theme],
  );
  const top = useMemo(
    () => extentOf(charts.flatMap(({ lines }) => lines.map((line) => line.samples(span.whole))))?.[1],
    [charts, span],
  );
  const onMore = useMemo(() => moreOf([...sources.values()]), [sources]);
  if (problem) return <ErrorNote error={problem} />;
  if (sources.size === 0) return <Waiting label="Reading the traces" height="40rem" />;
  return (
    <>
      <div className="strip">
        <Segments
          label="Quantity"
          choices={MEASURES.map((one) => [one, QUANTITIES[one].name] as const)}
          value={of}
          onChange={(one) => setView({ of: one })}
        />
      </div>
      <div className={styles.multiples}>
        {charts.map(({ one, lines }) => (
          <Chart
            key={one.id}
            title={one.name}
            file={`${one.id}-${of}`}
            y={QUANTITIES[of]}
            span={span}
            lines={lines}
            height={150}
            top={top}
            onMore={onMore}
          />
        ))}
      </div>
    </>
  );
}
