/** A few experiments as rows, each with a link to its page. */
import type { Schemas } from "../../api/client";
import { linkTo } from "../../navigation/hash";
import { StatusBadge } from "../../parts/Badge";
import { ago, count, moment } from "../../units";
import styles from "./Start.module.css";

type Row = Schemas["ExperimentRow"];

export function Latest({ label, rows }: { label: string; rows: readonly Row[] }) {
  return (
    <ul aria-label={label}>
      {rows.map((row) => (
        <li key={row.id} className={styles.row}>
          <StatusBadge status={row.status} />
          <a href={linkTo(["experiments", row.id])} className={styles.name}>
            {row.title || row.name}
          </a>
          <span className={styles.about}>{row.about}</span>
          <span className={styles.runs}>{progressOf(row)}</span>
          <span className={styles.when} title={moment(row.created_at)}>
            {ago(row.created_at)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function progressOf({ progress: { total, done, missed, failed } }: Row): string {
  const ended = done + missed + failed;
  const runs = total === 1 ? "run" : "runs";
  return ended === total ? `${count(total)} ${runs}` : `${count(ended)} of ${count(total)} ${runs}`;
}
