/** A table of rows that keys walk and select: status, owner and creation time, and columns of each kind. */
import { memo, type ReactNode } from "react";
import { type Status, StatusBadge } from "../../parts/Badge";
import { ago, moment } from "../../units";
import { rowId } from "./cursor";
import styles from "./Rows.module.css";

interface Listed {
  id: string;
  status: Status;
  owner: string | null;
  created_at: string;
}

export interface RowsProps<R> {
  rows: readonly R[];
  picked: ReadonlySet<string>;
  /** Whether all matching rows are selected, or as many as the limit allows. */
  isAllPicked: boolean;
  cursor: string | null;
  onPick: (id: string) => void;
  onPickAll: () => void;
}

interface Props<R> extends RowsProps<R> {
  name: string;
  /** The word for one row, after `Select`. */
  noun: string;
  heads: ReactNode;
  /** Must be the same function each time, so that only changed rows are drawn again. */
  cells: (row: R) => ReactNode;
}

export function PickTable<R extends Listed>(props: Props<R>) {
  const { name, noun, heads, cells, rows, picked, isAllPicked, cursor, onPick, onPickAll } = props;
  return (
    <table className={styles.table} aria-label={name}>
      <thead>
        <tr>
          <th scope="col" className={styles.pick}>
            <input
              ref={(box) => {
                if (box !== null) box.indeterminate = !isAllPicked && picked.size > 0;
              }}
              type="checkbox"
              aria-label="Select all that match"
              checked={isAllPicked}
              onChange={onPickAll}
            />
          </th>
          <th scope="col">Status</th>
          {heads}
          <th scope="col">Owner</th>
          <th scope="col">Created</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <Row
            key={row.id}
            row={row}
            noun={noun}
            cells={cells}
            picked={picked.has(row.id)}
            here={row.id === cursor}
            onPick={onPick}
          />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps<R> extends Pick<Props<R>, "noun" | "cells" | "onPick"> {
  row: R;
  picked: boolean;
  here: boolean;
}

const Row = memo(function Row<R extends Listed>({ row, noun, cells, picked, here, onPick }: RowProps<R>) {
  return (
    <tr id={rowId(row.id)} className={styles.row} data-picked={picked} data-here={here} aria-selected={picked}>
      <td className={styles.pick}>
        <input
          type="checkbox"
          aria-label={`Select ${noun} ${row.id}`}
          checked={picked}
          onChange={() => onPick(row.id)}
        />
      </td>
      <td className={styles.state}>
        <StatusBadge status={row.status} />
      </td>
      {cells(row)}
      <td className={styles.owner}>{row.owner ?? <span className={styles.faint}>here</span>}</td>
      <td className={styles.when} title={moment(row.created_at)}>
        {ago(row.created_at)}
      </td>
    </tr>
  );
}) as <R extends Listed>(props: RowProps<R>) => ReactNode;
