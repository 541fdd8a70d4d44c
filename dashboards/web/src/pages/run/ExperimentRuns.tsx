/** The runs of an experiment; the charts of one of them are shown. */

import type { RunRow } from "../../data/runList";

import { StatusBadge } from "../../parts/Badge";
import { RunLink } from "../../parts/RunLink";
import { type Column, Table } from "../../parts/Table";
import { NONE, spellNumber, wait } from "../../units";
import styles from "./ExperimentRuns.module.css";

interface Props {
  rows: readonly RunRow[];
  shown: string;
  onShow: (run: string) => void;
}

export function ExperimentRuns({ rows, shown, onShow }: Props) {
  const swept = [...new Set(rows.flatMap((row) => Object.keys(row.point)))];
  const columns: Column<RunRow>[] = [
    {
      key: "show",
      name: <span className="unseen">Shown</span>,
      cell: (row) => (
        <button type="button" className={styles.show} aria-pressed={row.id === shown} onClick={() => onShow(row.id)}>
          {row.id === shown ? "Shown" : "Show"}
        </button>
      ),
    },
    ...swept.map(
      (path): Column<RunRow> => ({
        key: path,
        name: path.replace(/^(flows|path)\./, ""),
        cell: (row) => spellNumber(row.point[path] ?? NONE),
        by: (row) => row.point[path],
      }),
    ),
    { key: "seed", name: "Seed", number: true, cell: (row) => String(row.seed), by: (row) => row.seed },
    { key: "status", name: "Status", cell: (row) => <StatusBadge status={row.status} />, by: (row) => row.status },
    { key: "wall", name: "Took", number: true, cell: (row) => wait(row.wall_s), by: (row) => row.wall_s },
    { key: "run", name: "Run", cell: (row) => <RunLink id={row.id} /> },
  ];
  return (
    <div className={styles.frame}>
      <Table label="Runs" columns={columns} rows={rows} rowKey={(row) => row.id} isMarked={(row) => row.id === shown} />
    </div>
  );
}
