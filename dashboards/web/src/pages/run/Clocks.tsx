/** The progress of a run, in virtual and real time, and the time that is left. */
import { useRef } from "react";
import { useNow } from "../../hooks";
import { Fact } from "../../parts/Facts";
import { ProgressBar } from "../../parts/ProgressBar";
import { digits, NONE, wait } from "../../units";
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
  useNow(TICK_MS);
  const pace = useRef(new Pace());

  const reached = Math.min(durationS, reachedS());
  const nowS = performance.now() / 1000;
  const wallS = startedAt === null ? null : Math.max(0, (Date.now() - Date.parse(startedAt)) / 1000);
  pace.current.note(nowS, reached, wallS ?? 0);
  const leftS = pace.current.leftS(nowS, durationS, wallS ?? 0);
  const speed = wallS !== null && wallS > 0.5 && reached > 0 ? reached / wallS : null;
  return (
    <div className="pile">
      <ProgressBar value={reached} max={durationS} label="Progress of the run" wide />
      <dl className={styles.numbers}>
        <Fact name="run time">{`${reached.toFixed(1)} s of ${digits(durationS)} s`}</Fact>
        <Fact name="real time">{wait(wallS)}</Fact>
        <Fact name="speed">{speed === null ? NONE : `${digits(speed, 2)} × real time`}</Fact>
        <Fact name="estimate">{leftS === null ? NONE : leftText(leftS)}</Fact>
        <Fact name="charts">
          <span role="status">{word()}</span>
        </Fact>
      </dl>
    </div>
  );
}
