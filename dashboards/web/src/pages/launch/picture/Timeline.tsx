/** The timeline of flows and scheduled changes: drag the ends of a bar, or the whole bar. */
import { flowStyle } from "../../../theme/palette";
import { useTheme } from "../../../theme/theme";
import { duration } from "../../../units";
import { ticks, written } from "../durations";
import { useEdit, write } from "../form/edit";
import { Handle } from "./Handle";
import styles from "./Timeline.module.css";
import { type Lane, type Moment, type TimeLine, timeLine } from "./timeline";

export function Timeline() {
  const { data, schema } = useEdit();
  const line = timeLine(data, schema);
  if (line === null) return <p className={styles.note}>The timeline appears when the experiment has a duration.</p>;
  const share = (s: number): string => `${(100 * s) / line.lengthS}%`;
  return (
    <div className={styles.timeline} role="group" aria-label="Timeline">
      <div className={styles.names}>
        <span className={styles.axisName}>time</span>
        {line.lanes.map((lane) => (
          <span key={lane.position} className={styles.name} title={`${lane.name} ${lane.what}`}>
            {lane.name} <small>{lane.what}</small>
          </span>
        ))}
      </div>
      <div className={styles.field} data-time>
        <div className={styles.axis}>
          {ticks(line.lengthS).map((at) => (
            <span key={at} className={styles.tick} style={{ left: share(at) }}>
              {duration(at)}
            </span>
          ))}
        </div>
        {line.warmupS > 0 && (
          <div
            className={styles.warmup}
            style={{ width: share(Math.min(line.warmupS, line.lengthS)) }}
            title={`warmup, left out of measures: ${written(line.warmupS)}`}
          />
        )}
        {line.lanes.map((lane) => (
          <Bar key={lane.position} lane={lane} line={line} share={share} />
        ))}
        {line.moments.map((moment) => (
          <Mark key={moment.position} moment={moment} line={line} share={share} />
        ))}
      </div>
    </div>
  );
}

type Share = (s: number) => string;

function Bar({ lane, line: { lengthS }, share }: { lane: Lane; line: TimeLine; share: Share }) {
  const { schema } = useEdit();
  const theme = useTheme();
  const style = flowStyle(lane.position, theme);
  const at = ["flows", lane.position];
  const setStart = (s: number): void => write([...at, "start"], s === 0 ? undefined : written(s), schema);
  const setStop = (s: number): void => write([...at, "stop"], s >= lengthS ? undefined : written(s), schema);
  const span = lane.stopS - lane.startS;
  return (
    <div className={styles.lane}>
      <div
        className={styles.bar}
        data-sized={lane.sized && !lane.stops}
        style={{ left: share(lane.startS), width: share(Math.max(0, span)) }}
      >
        <svg className={styles.stroke} aria-hidden="true" preserveAspectRatio="none">
          <line
            x1="0"
            y1="50%"
            x2="100%"
            y2="50%"
            stroke={style.variable}
            strokeWidth="6"
            strokeDasharray={style.dash.join(" ")}
          />
        </svg>
      </div>
      {lane.starts.map((s) => (
        <span key={s} className={styles.start} style={{ left: share(s), background: style.variable }} />
      ))}
      {lane.stops && (
        <Handle
          label={`${lane.name}, start and stop`}
          className={styles.whole ?? ""}
          style={{ left: share(lane.startS), width: share(Math.max(0, span)) }}
          value={lane.startS}
          least={0}
          most={Math.max(0, lengthS - span)}
          lengthS={lengthS}
          onMove={(s) => {
            setStart(s);
            setStop(s + span);
          }}
        />
      )}
      <Handle
        label={`${lane.name} starts`}
        className={styles.end ?? ""}
        style={{ left: share(lane.startS), color: style.variable }}
        value={lane.startS}
        least={0}
        most={lane.stopS}
        lengthS={lengthS}
        onMove={setStart}
      />
      {(!lane.sized || lane.stops) && (
        <Handle
          label={`${lane.name} stops`}
          className={styles.end ?? ""}
          style={{ left: share(lane.stopS), color: style.variable }}
          value={lane.stopS}
          least={lane.startS}
          most={lengthS}
          lengthS={lengthS}
          onMove={setStop}
        />
      )}
    </div>
  );
}

function Mark({ moment, line: { lengthS }, share }: { moment: Moment; line: TimeLine; share: Share }) {
  const { schema } = useEdit();
  return (
    <Handle
      label={`Change: ${moment.what}`}
      className={styles.mark ?? ""}
      style={{ left: share(Math.min(moment.atS, lengthS)) }}
      value={moment.atS}
      least={0}
      most={lengthS}
      lengthS={lengthS}
      onMove={(s) => write(["schedule", moment.position, "at"], written(s), schema)}
    >
      {moment.what}
    </Handle>
  );
}
