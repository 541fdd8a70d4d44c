/** Experiments as rows: how far each is, what its runs came to, and what can be done with it. */
import { memo } from "react";
import { StatusBadge } from "../../parts/Badge";
import { linkTo } from "../../shell/hash";
import { ago, count, moment } from "../../units";
import { rowId } from "./cursor";
import styles from "./Rows.module.css";
import type { RowsProps } from "./RunRows";
import { type ExperimentRow, listOf } from "./view";

export function ExperimentRows({ rows, picked, cursor, onPick, onPickAll }: RowsProps<ExperimentRow>) {
  const all = rows.length > 0 && rows.every((row) => picked.has(row.id));
  return (
    <table className={styles.table} aria-label="Experiments">
      <thead>
        <tr>
          <th scope="col" className={styles.pick}>
            <input type="checkbox" aria-label="Pick all that are loaded" checked={all} onChange={onPickAll} />
          </th>
          <th scope="col">State</th>
          <th scope="col" className={styles.what}>
            Experiment
          </th>
          <th scope="col">Congestion control</th>
          <th scope="col">Runs</th>
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
  row: ExperimentRow;
  picked: boolean;
  here: boolean;
  onPick: (id: string) => void;
}

const Row = memo(function Row({ row, picked, here, onPick }: RowProps) {
  return (
    <tr id={rowId(row.id)} className={styles.row} data-picked={picked} data-here={here} aria-selected={picked}>
      <td className={styles.pick}>
        <input
          type="checkbox"
          aria-label={`Pick experiment ${row.id}`}
          checked={picked}
          onChange={() => onPick(row.id)}
        />
      </td>
      <td className={styles.state}>
        <StatusBadge status={row.status} />
      </td>
      <td className={styles.what}>
        <a href={linkTo(["experiments", row.id])}>{row.name}</a>
        {row.about && <span className={styles.about}>{row.about}</span>}
      </td>
      <td className={styles.controls}>{row.controls.join(", ")}</td>
      <td className={styles.runs}>
        <a href={listOf({ of: row.id })} className={styles.progress}>
          <Progress row={row} />
          {told(row)}
        </a>
      </td>
      <td className={styles.owner}>{row.owner}</td>
      <td className={styles.when} title={moment(row.created_at)}>
        {ago(row.created_at)}
      </td>
    </tr>
  );
});

/** Ends in their order, each as long as its share; the rest is not there yet. */
function Progress({ row }: { row: ExperimentRow }) {
  const { total, done, missed, failed } = row.progress;
  const ends = [
    ["good", done],
    ["warn", missed],
    ["bad", failed],
  ] as const;
  let from = 0;
  return (
    <svg className={styles.bar} viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
      {ends.map(([tone, number]) => {
        const begin = from;
        from += total > 0 ? (100 * number) / total : 0;
        return <rect key={tone} className={styles[tone]} x={begin} width={from - begin} height="6" />;
      })}
    </svg>
  );
}

function told(row: ExperimentRow): string {
  const { total, done, missed, failed, cancelled } = row.progress;
  const ended = done + missed + failed;
  const some = ended === total ? count(total) : `${count(ended)} of ${count(total)}`;
  const worse = [
    missed > 0 && `${missed} missed`,
    failed > 0 && `${failed} failed`,
    cancelled > 0 && `${cancelled} cancelled`,
  ];
  return [some, ...worse.filter(Boolean)].join(", ");
}
