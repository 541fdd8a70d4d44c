/** A status in one word, with a sign, so that colour is never the only mark. */
import type { Schemas } from "../api/client";
import styles from "./Badge.module.css";

export type Status = Schemas["RunRow"]["status"];
export type Tone = "good" | "warn" | "bad" | "busy" | "neutral";

const SIGNS: Record<Tone, string> = { good: "✓", warn: "!", bad: "✕", busy: "•", neutral: "·" };
const TONES: Record<Status, Tone> = {
  queued: "neutral",
  running: "busy",
  done: "good",
  missed: "warn",
  failed: "bad",
  cancelled: "neutral",
};

export function Badge({ tone, children }: { tone: Tone; children: string }) {
  return (
    <span className={`${styles.badge} ${styles[tone]}`}>
      <span aria-hidden="true" className={styles.sign}>
        {SIGNS[tone]}
      </span>
      {children}
    </span>
  );
}

/** The sign of a status, for a title. */
export function signOf(status: Status): string {
  return SIGNS[TONES[status]];
}

/** The status of a run or an experiment. */
export function StatusBadge({ status }: { status: Status }) {
  return <Badge tone={TONES[status]}>{status}</Badge>;
}
