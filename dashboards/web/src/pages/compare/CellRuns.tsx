/** The runs of a cell of a heat map. */

import { measureValue } from "../../data/measures";
import { pointText } from "../../data/runDocument";
import { linkTo } from "../../navigation/route";
import { StatusBadge } from "../../parts/Badge";
import { LinkButton } from "../../parts/Button";
import { Notes } from "../../parts/Notes";
import { Panel } from "../../parts/Panel";
import { RunLink } from "../../parts/RunLink";
import { type Column, Table } from "../../parts/Table";
import type { Cell, RunValue } from "./heat";

interface Props {
  cell: Cell;
  measure: string;
  notes: readonly string[];
}

export function CellRuns({ cell, measure, notes }: Props) {
  const columns: Column<RunValue>[] = [
    { key: "run", name: "Run", cell: (row) => <RunLink id={row.run} /> },
    { key: "seed", name: "Seed", number: true, cell: (row) => String(row.seed), by: (row) => row.seed },
    { key: "status", name: "Status", cell: (row) => <StatusBadge status={row.status} />, by: (row) => row.status },
    {
      key: "value",
      name: "Value",
      number: true,
      cell: (row) => measureValue(measure, row.value),
      by: (row) => row.value,
    },
  ];
  const kept = cell.runs.filter((one) => one.value !== null).map((one) => one.run);
  return (
    <Panel
      title={`Runs of ${pointText(cell.runs[0]?.point ?? {})}`}
      actions={kept.length > 0 && <LinkButton href={linkTo(["compare"], `runs=${kept.join(",")}`)}>Overlay</LinkButton>}
    >
      <Notes notes={notes} />
      <Table label="Runs of the cell" columns={columns} rows={cell.runs} rowKey={(row) => row.run} />
    </Panel>
  );
}
