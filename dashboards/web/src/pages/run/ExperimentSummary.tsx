/** The summary of an experiment over its repeats: each measure of each flow at each point, with its interval. */
import { useMemo, useState } from "react";
import { addressOf } from "../../api/address";
import { measureText, measureValue } from "../../data/measures";
import { isKept, pointText } from "../../data/runDocument";
import type { RunRow } from "../../data/runList";
import { LinkButton } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { Select } from "../../parts/Select";
import { type Column, Table } from "../../parts/Table";
import { precise } from "../../units";
import styles from "./RunPage.module.css";
import { useSummary } from "./runQueries";

interface Row {
  point: Record<string, string>;
  flow: string | null;
  phase?: string | null;
  measure: string;
  value: number | null;
  low: number | null;
  high: number | null;
  n: number;
}

const FIRST = "goodput_bps";

const rounded = ({ low, high }: Row, value: number | null): number | null => precise(value, low, high);

export function ExperimentSummary({ id, version, points }: { id: string; version: string; points: readonly RunRow[] }) {
  const ended = points.some((row) => isKept(row.status));
  const summary = useSummary(ended ? id : "", version);
  const [measure, setMeasure] = useState(FIRST);
  const rows = useMemo(() => (summary.data?.summary ?? []) as unknown as Row[], [summary.data]);
  if (!ended) return null;
  if (summary.error) return <ErrorNote error={summary.error} />;
  const measures = [...new Set(rows.map((row) => row.measure))];
  const shown = rows.filter((row) => row.measure === (measures.includes(measure) ? measure : measures[0]));
  const columns: Column<Row>[] = [
    { key: "point", name: "Point", cell: (row) => pointText(row.point) || "–", by: (row) => pointText(row.point) },
    { key: "flow", name: "Flow", cell: (row) => row.flow ?? "path", by: (row) => row.flow },
    {
      key: "value",
      name: "Value",
      number: true,
      cell: (row) => measureValue(row.measure, rounded(row, row.value)),
      by: (row) => row.value,
    },
    {
      key: "interval",
      name: "95 % interval",
      number: true,
      cell: (row) =>
        row.low === null || row.n < 2
          ? "–"
          : `${measureValue(row.measure, rounded(row, row.low))} – ${measureValue(row.measure, rounded(row, row.high))}`,
    },
    { key: "n", name: "Runs", number: true, cell: (row) => String(row.n), by: (row) => row.n },
  ];
  return (
    <Panel
      title="Summary"
      actions={
        <>
          <Select
            aria-label="Measure"
            value={measure}
            choices={measures.map((one) => [one, measureText(one)] as const)}
            onChange={setMeasure}
          />
          <LinkButton href={addressOf(`/api/v1/experiments/${id}/report`)}>Report</LinkButton>
          <LinkButton href={addressOf(`/api/v1/experiments/${id}/summary`)}>JSON</LinkButton>
          <LinkButton href={addressOf(`/api/v1/experiments/${id}/junit`)}>JUnit</LinkButton>
          <LinkButton href={addressOf(`/api/v1/experiments/${id}/points?format=csv`)}>CSV</LinkButton>
          <LinkButton href={addressOf(`/api/v1/experiments/${id}/points`)}>Parquet</LinkButton>
        </>
      }
    >
      <div className={styles.scrolls}>
        <Table
          label="Summary"
          columns={columns}
          rows={shown}
          rowKey={(row) => `${JSON.stringify(row.point)} ${row.flow} ${row.phase ?? ""} ${row.measure}`}
        />
      </div>
    </Panel>
  );
}
