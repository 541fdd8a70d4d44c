/** What one has, as a table that is walked and picked from: state, whose and when are told of all alike; the rest is each kind's own. */
import { memo, type ReactNode } from "react";
import { type Status, StatusBadge } from "../../parts/Badge";
import { ago, moment } from "../../units";
import { rowId } from "./cursor";
import styles from "./Rows.module.css";

interface Had {
  id: string;
  status: Status;
  owner: string | null;
  created_at: string;
}

export interface RowsProps<R> {
  rows: readonly R[];
  picked: ReadonlySet<string>;
  /** All that match, or as many as may be. */
  isAllPicked: boolean;
  cursor: string | null;
  onPick: (id: string) => void;
  onPickAll: () => void;
}

interface Props<R> extends RowsProps<R> {
  name: string;
  /** Of one of them, after `Pick`. */
  noun: string;
  heads: ReactNode;
  /** The same function for every row and each time: a row is drawn anew only if it changes. */
  cells: (row: R) => ReactNode;
}

export function PickTable<R extends Had>(props: Props<R>) {
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
              aria-label="Pick all that match"
              checked={isAllPicked}
              onChange={onPickAll}
            />
          </th>
          <th scope="col">State</th>
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

const Row = memo(function Row<R extends Had>({ row, noun, cells, picked, here, onPick }: RowProps<R>) {
  return (
    <tr id={rowId(row.id)} className={styles.row} data-picked={picked} data-here={here} aria-selected={picked}>
      <td className={styles.pick}>
        <input type="checkbox" aria-label={`Pick ${noun} ${row.id}`} checked={picked} onChange={() => onPick(row.id)} />
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
}) as <R extends Had>(props: RowProps<R>) => ReactNode;
