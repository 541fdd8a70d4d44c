/** Rows of experiments: progress and the status of their runs. */

import { type ExperimentRow, listOf } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { count } from "../../units";
import { PickTable, type RowsProps } from "./PickTable";
import styles from "./Rows.module.css";

export function ExperimentRows(props: RowsProps<ExperimentRow>) {
  return <PickTable name="Experiments" noun="experiment" heads={heads} cells={cells} {...props} />;
}

const heads = (
  <>
    <th scope="col" className={styles.what}>
      Experiment
    </th>
    <th scope="col">Congestion control</th>
    <th scope="col">Runs</th>
  </>
);

function cells(row: ExperimentRow) {
  return (
    <>
      <td className={styles.what}>
        <a href={linkTo(["experiments", row.id])}>{row.name}</a>
        {row.rerun_of && (
          <span className={styles.pin} title={`Rerun of run ${row.rerun_of}`}>
            rerun
          </span>
        )}
        {row.about && <span className={styles.about}>{row.about}</span>}
      </td>
      <td className={styles.controls}>{row.controls.join(", ")}</td>
      <td className={styles.runs}>
        <a href={listOf({ of: row.id })} className={styles.progress}>
          <Progress row={row} />
          {progressText(row)}
        </a>
      </td>
    </>
  );
}

/** One bar: the share of runs that are done, missed and failed; the rest has not ended. */
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

function progressText(row: ExperimentRow): string {
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
