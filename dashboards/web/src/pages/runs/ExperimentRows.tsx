/** Rows of experiments: progress and the status of their runs. */

import { type ExperimentRow, listOf } from "../../data/runList";
import { linkTo } from "../../navigation/hash";
import { count } from "../../units";
import { CREATED, Mark, OWNER, STATUS, TagMarks } from "./columns";
import { type ListColumn, PickTable, type RowsProps } from "./PickTable";
import styles from "./Rows.module.css";

export function ExperimentRows(props: RowsProps<ExperimentRow>) {
  return <PickTable name="Experiments" noun="experiment" columns={COLUMNS} {...props} />;
}

const COLUMNS: readonly ListColumn<ExperimentRow>[] = [
  STATUS,
  {
    key: "experiment",
    name: "Experiment",
    look: styles.what,
    cell: (row) => (
      <>
        <a href={linkTo(["experiments", row.id])}>{row.title || row.name}</a>
        {row.title && <span className="faint">{row.name}</span>}
        {row.rerun_of && <Mark title={`Rerun of run ${row.rerun_of}`}>rerun</Mark>}
        <TagMarks tags={row.tags} />
        {row.about && (
          <span className={styles.about} title={row.about}>
            {row.about}
          </span>
        )}
      </>
    ),
  },
  { key: "cc", name: "Congestion control", width: 13, look: styles.controls, cell: (row) => row.controls.join(", ") },
  {
    key: "runs",
    name: "Runs",
    width: 16,
    look: styles.runs,
    cell: (row) => (
      <a href={listOf({ of: row.id })} className={styles.progress}>
        <Progress row={row} />
        {progressText(row)}
      </a>
    ),
  },
  OWNER,
  CREATED,
];

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
