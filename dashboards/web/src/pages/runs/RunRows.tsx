/** Runs as rows: state, what and where, what came of it, whose and when. On a phone a row becomes three lines. */

import { type RunRow, shortField } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { duration, plain, rate, share, wait } from "../../units";
import { PickTable, type RowsProps } from "./PickTable";
import styles from "./Rows.module.css";

export function RunRows(props: RowsProps<RunRow>) {
  return <PickTable name="Runs" noun="run" heads={heads} cells={cells} {...props} />;
}

const heads = (
  <>
    <th scope="col" className={styles.what}>
      Run
    </th>
    <th scope="col">Congestion control</th>
    <th scope="col">Path</th>
    <th scope="col" className={styles.number} title="Throughput of all flows / bandwidth, in the window">
      Utilisation
    </th>
    <th scope="col" className={styles.number} title="Jain's index of fairness">
      Jain
    </th>
    <th scope="col" className={styles.number} title="Virtual time, and what it took">
      Length
    </th>
  </>
);

function cells(row: RunRow) {
  const point = Object.entries(row.point);
  return (
    <>
      <td className={styles.what}>
        <a href={linkTo(["runs", row.id])}>{row.experiment}</a>
        {row.rerun_of && (
          <span className={styles.pin} title={`It repeats run ${row.rerun_of}`}>
            rerun
          </span>
        )}
        {row.partial && (
          <span className={styles.pin} title="The trace up to where it was cancelled, and no result">
            partial trace
          </span>
        )}
        {row.pinned && (
          <span className={styles.pin} title="Pinned: retention leaves it alone">
            pinned
          </span>
        )}
        <span className={styles.point}>
          {point.map(([field, value]) => (
            <span key={field} title={field}>
              {shortField(field)} {value}
            </span>
          ))}
          <span className={styles.faint}>seed {row.seed}</span>
        </span>
      </td>
      <td className={styles.controls}>{row.controls.join(", ") || "udp"}</td>
      <td className={styles.path}>
        {row.bandwidth_bps === null ? (
          <span className={styles.faint} title="Kept by an earlier version: see the run itself">
            unknown
          </span>
        ) : (
          `${rate(row.bandwidth_bps)} · ${duration((row.rtt_us ?? 0) / 1e6)}`
        )}
        {row.backend !== "sandbox" && <span className={styles.faint}> {row.backend}</span>}
      </td>
      <td className={styles.number} data-name="utilisation" data-empty={row.utilisation === null}>
        {share(row.utilisation)}
      </td>
      <td className={styles.number} data-name="Jain" data-empty={row.jain === null}>
        {plain(row.jain)}
      </td>
      <td
        className={styles.number}
        data-name="length"
        title={row.wall_s === null ? undefined : `took ${wait(row.wall_s)}`}
      >
        {wait(row.virtual_s)}
      </td>
    </>
  );
}
