/** The progress of a run, in virtual and real time, and the time that is left. */
import { useEffect, useRef, useState } from "react";
import { ProgressBar } from "../../parts/ProgressBar";
import { digits, wait } from "../../units";
import styles from "./Clocks.module.css";
import { leftText, Pace } from "./remaining";

interface Props {
  durationS: number;
  /** Seconds of virtual time, or of real time where the run has no virtual clock. */
  reachedS: () => number;
  startedAt: string | null;
  /** The state of the charts. */
  word: () => string;
}

const TICK_MS = 250;

/** Shown while the run is running. */
export function Clocks({ durationS, reachedS, startedAt, word }: Props) {
  const [, setNow] = useState(0);
  const pace = useRef(new Pace());
  useEffect(() => {
    const timer = window.setInterval(() => setNow((tick) => tick + 1), TICK_MS);
    return () => window.clearInterval(timer);
  }, []);
  const reached = Math.min(durationS, reachedS());
  const nowS = performance.now() / 1000;
  const wallS = startedAt === null ? null : Math.max(0, (Date.now() - Date.parse(startedAt)) / 1000);
  pace.current.note(nowS, reached, wallS ?? 0);
  const leftS = pace.current.leftS(nowS, durationS, wallS ?? 0);
  const speed = wallS !== null && wallS > 0.5 && reached > 0 ? reached / wallS : null;
  return (
    <div className={styles.clocks}>
      <ProgressBar value={reached} max={durationS} label="Progress of the run" wide />
      <dl className={styles.numbers}>
        <div>
          <dt>run time</dt>
          <dd>
            {reached.toFixed(1)} s of {digits(durationS)} s
          </dd>
        </div>
        <div>
          <dt>real time</dt>
          <dd>{wallS === null ? "–" : wait(wallS)}</dd>
        </div>
        <div>
          <dt>speed</dt>
          <dd>{speed === null ? "–" : `${digits(speed, 2)} × real time`}</dd>
        </div>
        <div>
          <dt>estimate</dt>
          <dd>{leftS === null ? "–" : leftText(leftS)}</dd>
        </div>
        <div>
          <dt>charts</dt>
          <dd role="status">{word()}</dd>
        </div>
      </dl>
    </div>
  );
}
