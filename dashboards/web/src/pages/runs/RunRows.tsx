/** Rows of runs: path, controls, utilisation, fairness and length. On a phone a row becomes three lines. */

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
    <th scope="col" className={styles.number} title="Virtual time; the tooltip of a row shows the real time">
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
          <span className={styles.pin} title={`Rerun of run ${row.rerun_of}`}>
            rerun
          </span>
        )}
        {row.partial && (
          <span className={styles.pin} title="The trace until the run was cancelled; not a result">
            partial trace
          </span>
        )}
        {row.pinned && (
          <span className={styles.pin} title="Pinned: longhaul prune leaves it">
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
          <span className={styles.faint} title="Kept by an earlier version: open the run">
            unknown
          </span>
        ) : (
          `${row.bandwidth_bps === 0 ? "no known rate" : rate(row.bandwidth_bps)} · ${duration((row.rtt_us ?? 0) / 1e6)}`
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
