/** The progress of an experiment: its runs by status, as a bar and as text, and the time that is left. */

import { isOver } from "../../data/runDocument";
import type { RunRow } from "../../data/runList";
import { useNow } from "../../hooks";
import { count } from "../../units";
import styles from "./Progress.module.css";
import { experimentLeftS, leftText } from "./remaining";
import type { Experiment } from "./runQueries";

const PARTS = ["done", "missed", "failed", "cancelled"] as const;

const TICK_MS = 1000;

export function Progress({ experiment, rows }: { experiment: Experiment; rows: readonly RunRow[] }) {
  const { progress } = experiment;
  const over = isOver(experiment.status);
  const nowMs = useNow(TICK_MS, !over);
  const leftS = over ? null : experimentLeftS(rows, progress.total, experiment.created_at, nowMs);
  const ended = PARTS.reduce((sum, part) => sum + progress[part], 0);
  const text = [
    `${count(ended)} of ${count(progress.total)} runs ended`,
    ...PARTS.filter((part) => progress[part] > 0).map((part) => `${count(progress[part])} ${part}`),
    ...(progress.cached > 0 ? [`${count(progress.cached)} kept already`] : []),
    ...(leftS === null ? [] : [leftText(leftS)]),
  ].join(", ");
  return (
    <div className={styles.progress}>
      <div
        className={styles.bar}
        role="progressbar"
        aria-label="Runs that have ended"
        aria-valuemin={0}
        aria-valuemax={progress.total}
        aria-valuenow={ended}
      >
        {PARTS.map((part) => (
          <span key={part} className={styles[part]} style={{ flexGrow: progress[part] }} />
        ))}
        <span style={{ flexGrow: progress.total - ended }} />
      </div>
      <p>{text}</p>
    </div>
  );
}
