/** Runs as rows: state, what and where, what came of it, whose and when. On a phone a row becomes three lines. */
import { memo } from "react";
import { StatusBadge } from "../../parts/Badge";
import { linkTo } from "../../shell/hash";
import { ago, duration, moment, plain, rate, share, wait } from "../../units";
import { rowId } from "./cursor";
import styles from "./Rows.module.css";
import type { RunRow } from "./view";

export interface RowsProps<R> {
  rows: readonly R[];
  picked: ReadonlySet<string>;
  cursor: string | null;
  onPick: (id: string) => void;
  onPickAll: () => void;
}

export function RunRows({ rows, picked, cursor, onPick, onPickAll }: RowsProps<RunRow>) {
  const all = rows.length > 0 && rows.every((row) => picked.has(row.id));
  return (
    <table className={styles.table} aria-label="Runs">
      <thead>
        <tr>
          <th scope="col" className={styles.pick}>
            <input type="checkbox" aria-label="Pick all that are loaded" checked={all} onChange={onPickAll} />
          </th>
          <th scope="col">State</th>
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
          <th scope="col">Owner</th>
          <th scope="col">Created</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row key={row.id} row={row} picked={picked.has(row.id)} here={row.id === cursor} onPick={onPick} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  row: RunRow;
  picked: boolean;
  here: boolean;
  onPick: (id: string) => void;
}

const Row = memo(function Row({ row, picked, here, onPick }: RowProps) {
  const point = Object.entries(row.point);
  return (
    <tr id={rowId(row.id)} className={styles.row} data-picked={picked} data-here={here} aria-selected={picked}>
      <td className={styles.pick}>
        <input type="checkbox" aria-label={`Pick run ${row.id}`} checked={picked} onChange={() => onPick(row.id)} />
      </td>
      <td className={styles.state}>
        <StatusBadge status={row.status} />
      </td>
      <td className={styles.what}>
        <a href={linkTo(["runs", row.id])}>{row.experiment}</a>
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
      <td className={styles.owner}>{row.owner ?? <span className={styles.faint}>here</span>}</td>
      <td className={styles.when} title={moment(row.created_at)}>
        {ago(row.created_at)}
      </td>
    </tr>
  );
});

/** `flows.app.params.rate` -> `app rate`, `path.rtt` -> `rtt` */
function shortField(field: string): string {
  return field.replace(/^(path|flows|links)\./, "").replace(/\.(params\.)?/g, " ");
}
