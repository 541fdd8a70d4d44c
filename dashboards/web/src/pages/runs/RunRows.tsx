/** Rows of runs with the chosen columns. On a phone a row becomes a few lines. */
import { useMemo } from "react";
import type { RunRow } from "../../data/runList";
import { columnsOf } from "./columns";
import { PickTable, type RowsProps } from "./PickTable";

export function RunRows({ chosen, ...shared }: RowsProps<RunRow> & { chosen: readonly string[] }) {
  const written = chosen.join(",");
  const columns = useMemo(() => columnsOf(written === "" ? [] : written.split(",")), [written]);
  return <PickTable name="Runs" noun="run" columns={columns} {...shared} />;
}
