/** A table that sorts by a click on a column's head. To keep the order in the address, pass `sort` and `onSort`. */
import { type ReactNode, useMemo, useState } from "react";
import styles from "./Table.module.css";

export interface Column<R> {
  key: string;
  name: ReactNode;
  cell: (row: R) => ReactNode;
  /** The value to sort by; a column without it does not sort. */
  by?: (row: R) => number | string | null | undefined;
  /** Numbers are aligned right, so that their digits line up. */
  number?: boolean;
}

/** The key of a column; with a minus in front, the largest first. */
export type Sort = string;

interface Props<R> {
  /** The name of the table for screen readers. */
  label: string;
  columns: readonly Column<R>[];
  rows: readonly R[];
  rowKey: (row: R) => string;
  sort?: Sort | undefined;
  onSort?: ((sort: Sort) => void) | undefined;
  isMarked?: (row: R) => boolean;
  /** Small rows, below a chart. */
  dense?: boolean;
}

export function Table<R>({ label, columns, rows, rowKey, sort, onSort, isMarked, dense = false }: Props<R>) {
  const [own, setOwn] = useState<Sort>("");
  const now = sort ?? own;
  const sorted = useMemo(() => sortedRows(rows, columns, now), [rows, columns, now]);
  return (
    // A group, and no region: the panel around it often has the same name.
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys must scroll a table that is wider than the screen
    <div className={styles.frame} role="group" tabIndex={0} aria-label={label}>
      <table className={dense ? `${styles.table} ${styles.dense}` : styles.table} aria-label={label}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={now} onSort={onSort ?? setOwn} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sorted.map((row) => (
            <tr key={rowKey(row)} className={isMarked?.(row) ? styles.marked : undefined}>
              {columns.map((column) => (
                <td key={column.key} className={column.number ? styles.number : undefined}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Head<R>({ column, sort, onSort }: { column: Column<R>; sort: Sort; onSort: (sort: Sort) => void }) {
  const down = sort === `-${column.key}`;
  const direction = down ? "descending" : sort === column.key ? "ascending" : "none";
  const sign = { descending: "↓", ascending: "↑", none: "" }[direction];
  // A column of buttons has no name.
  if (column.name === "") return <td />;
  return (
    <th scope="col" className={column.number ? styles.number : undefined} aria-sort={column.by ? direction : undefined}>
      {column.by ? (
        <button
          type="button"
          className={styles.sorter}
          onClick={() => onSort(sort === column.key ? `-${column.key}` : column.key)}
        >
          {column.name}
          <span aria-hidden="true" className={styles.sign}>
            {sign}
          </span>
        </button>
      ) : (
        column.name
      )}
    </th>
  );
}

/** Rows without a value come last in both directions. */
export function sortedRows<R>(rows: readonly R[], columns: readonly Column<R>[], sort: Sort): readonly R[] {
  const down = sort.startsWith("-");
  const by = columns.find((column) => column.key === sort.replace(/^-/, ""))?.by;
  if (by === undefined) return rows;
  return [...rows].sort((a, b) => {
    const [left, right] = [by(a) ?? null, by(b) ?? null];
    if (left === null || right === null) return Number(left === null) - Number(right === null);
    const order =
      typeof left === "number" && typeof right === "number"
        ? left - right
        : String(left).localeCompare(String(right), "en", { numeric: true });
    return down ? -order : order;
  });
}
