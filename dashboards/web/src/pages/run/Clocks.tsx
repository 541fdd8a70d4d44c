/** How far a run is: its own clock against the one on the wall. */
import { useEffect, useState } from "react";
import { ProgressBar } from "../../parts/ProgressBar";
import { digits, wait } from "../../units";
import styles from "./Clocks.module.css";

interface Props {
  durationS: number;
  /** Seconds of the run's own time. */
  reachedS: () => number;
  startedAt: string | null;
  /** What it does right now. */
  word: () => string;
}

const TICK_MS = 250;

/** While it goes on. */
export function Clocks({ durationS, reachedS, startedAt, word }: Props) {
  const [, setNow] = useState(0);
  useEffect(() => {
    const timer = window.setInterval(() => setNow((tick) => tick + 1), TICK_MS);
    return () => window.clearInterval(timer);
  }, []);
  const reached = Math.min(durationS, reachedS());
  const wallS = startedAt === null ? null : Math.max(0, (Date.now() - Date.parse(startedAt)) / 1000);
  const speed = wallS !== null && wallS > 0.5 && reached > 0 ? reached / wallS : null;
  return (
    <div className={styles.clocks}>
      <ProgressBar value={reached} max={durationS} label="How far the run is" wide />
      <dl className={styles.numbers}>
        <div>
          <dt>run’s clock</dt>
          <dd>
            {reached.toFixed(1)} s of {digits(durationS)} s
          </dd>
        </div>
        <div>
          <dt>wall clock</dt>
          <dd>{wallS === null ? "–" : wait(wallS)}</dd>
        </div>
        <div>
          <dt>speed</dt>
          <dd>{speed === null ? "–" : `${digits(speed, 2)} × real time`}</dd>
        </div>
        <div>
          <dt>charts</dt>
          <dd role="status">{word()}</dd>
        </div>
      </dl>
    </div>
  );
}
