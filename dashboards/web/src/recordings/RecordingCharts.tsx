/** A recording, drawn: its numbers, and its capacity, delay and losses over time. */
import { useMemo } from "react";
import { Chart } from "../charts/Chart";
import type { Line } from "../charts/line";
import { QUANTITIES } from "../charts/quantities";
import { Span } from "../charts/span";
import { Facts } from "../parts/Facts";
import { flowStyle } from "../theme/palette";
import { useTheme } from "../theme/theme";
import { duration, rate, share } from "../units";
import type { Shown } from "./queries";
import styles from "./Recordings.module.css";
import { outagesOf, stepsOf } from "./steps";

const PERCENT = 100;
const PARTS = [
  ["rate_bps", "capacity", 1],
  ["delay_ms", "delay", 1],
  ["loss", "loss", PERCENT],
] as const;

export default function RecordingCharts({ shown, name }: { shown: Shown; name: string }) {
  const part = shown.shown;
  const theme = useTheme();
  const span = useMemo(() => new Span(part ? [part.from_s, part.to_s] : [0, 1]), [part]);
  const shaded = useMemo(() => (part ? outagesOf(part) : []), [part]);
  const charts = useMemo(
    () =>
      PARTS.flatMap(([field, quantity, factor]) => {
        const values = part?.[field];
        if (!part || !values) return [];
        const samples = stepsOf(part, values, factor);
        const { colour } = flowStyle(0, theme);
        const line: Line = {
          key: field,
          name: QUANTITIES[quantity].name,
          place: 0,
          colour,
          dash: [],
          width: 1.5,
          area: true,
          samples: () => samples,
        };
        return [{ quantity, lines: [line] }];
      }),
    [part, theme],
  );
  return (
    <div className={styles.drawn}>
      <Facts look={styles.numbers} label={`Numbers of ${name}`} facts={numbersOf(shown)} />
      {charts.map(({ quantity, lines }) => (
        <Chart
          key={quantity}
          title={QUANTITIES[quantity].name}
          file={`${name.replace(/[^\w.-]+/g, "-")}-${quantity}`}
          y={QUANTITIES[quantity]}
          span={span}
          lines={lines}
          height={120}
          top={0}
          {...(quantity === "capacity" ? { shaded, shade: "outage" } : {})}
        />
      ))}
      {part && (
        <p className={styles.about}>
          {part.from_s > 0 || part.to_s < (shown.length_s ?? 0)
            ? `The first ${duration(part.to_s - part.from_s)}, means `
            : "Means "}
          over {duration(part.every_s)}
          {shaded.length > 0 ? "; shaded: intervals with outages" : ""}.
        </p>
      )}
    </div>
  );
}

function numbersOf(shown: Shown): [string, string][] {
  const found: [string, string][] = [];
  if (shown.length_s != null) found.push(["Duration", duration(shown.length_s)]);
  if (shown.packets != null) found.push(["Length", `${shown.packets} packets`]);
  if (shown.mean_bps != null) found.push(["Mean capacity", rate(shown.mean_bps)]);
  if (shown.highest_bps != null) found.push(["Highest", rate(shown.highest_bps)]);
  if (shown.outages) {
    const { count, longest_s } = shown.outages;
    found.push(["Outages", count === 0 ? "none" : `${count}, the longest ${duration(longest_s)}`]);
  }
  if (shown.delay_ms)
    found.push(["Delay", `${duration(shown.delay_ms.least / 1000)} to ${duration(shown.delay_ms.highest / 1000)}`]);
  if (shown.loss != null) found.push(["Loss", share(shown.loss)]);
  return found;
}
