/** The values behind a chart as a table: one row for each time, at most MOST_ROWS of them. */
import { useEffect, useMemo, useState } from "react";
import { type Column, Table } from "../parts/Table";
import { count } from "../units";
import styles from "./Legend.module.css";
import { type Line, valued } from "./line";
import type { Quantity } from "./quantities";
import { MOST_ROWS, rowsOf } from "./readings";
import type { Span } from "./span";

interface Props {
  title: string;
  x: Quantity;
  y: Quantity;
  span: Span;
  lines: readonly Line[];
}

type Row = ReturnType<typeof rowsOf>[number];

/** A snapshot: it is read again when the window has settled. */
export function ValueTable({ title, x, y, span, lines }: Props) {
  const [version, setVersion] = useState(0);
  useEffect(() => span.onSettled(() => setVersion((now) => now + 1)), [span]);
  const named = useMemo(() => valued(lines), [lines]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the window changes without another identity
  const rows = useMemo(() => rowsOf(named, span.shown), [named, span, version]);
  const columns: Column<Row>[] = [
    { key: "x", name: x.name, number: true, cell: (row) => x.say(row.t), by: (row) => row.t },
    ...named.map(
      (line, at): Column<Row> => ({
        key: line.key,
        name: line.name,
        number: true,
        cell: (row) => y.say(row.values[at] ?? null),
        by: (row) => row.values[at],
      }),
    ),
  ];
  const [from, to] = span.shown;
  return (
    <div className={styles.values}>
      <p>
        {count(rows.length)} rows from {x.say(from)} to {x.say(to)}
        {rows.length === MOST_ROWS && "; zoom in for values between them, or save all as CSV"}
      </p>
      <div className={styles.rows}>
        <Table label={`${title} as a table`} columns={columns} rows={rows} rowKey={(row) => String(row.t)} dense />
      </div>
    </div>
  );
}
