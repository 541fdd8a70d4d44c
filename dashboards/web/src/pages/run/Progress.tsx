/** The progress of an experiment: its runs by status, as a bar and as text. */
import { count } from "../../units";
import styles from "./Progress.module.css";
import type { Experiment } from "./runQueries";

const PARTS = ["done", "missed", "failed", "cancelled"] as const;

export function Progress({ experiment: { progress } }: { experiment: Experiment }) {
  const ended = PARTS.reduce((sum, part) => sum + progress[part], 0);
  const text = [
    `${count(ended)} of ${count(progress.total)} runs ended`,
    ...PARTS.filter((part) => progress[part] > 0).map((part) => `${count(progress[part])} ${part}`),
    ...(progress.cached > 0 ? [`${count(progress.cached)} kept already`] : []),
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
