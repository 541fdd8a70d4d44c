/** A table of which only the rows near the sight are drawn. Keys walk and select its rows; some columns sort the list. */
import { memo, type ReactNode, useCallback, useMemo, useRef } from "react";
import { go } from "../../navigation/route";
import type { Status } from "../../parts/Badge";
import { useCursor } from "./cursor";
import styles from "./Rows.module.css";
import { type Range, topOf, useWindow } from "./window";

/** A row of runs or of experiments. */
export interface ListedRow {
  id: string;
  status: Status;
  owner: string | null;
  created_at: string;
}

export interface ListColumn<R> {
  key: string;
  name: string;
  /** The explanation of its head. */
  title?: string;
  /** Its width in rem; a column without one has the rest. */
  width?: number;
  /** The class of its cells. */
  look?: string | undefined;
  cell: (row: R) => ReactNode;
  /** The orders that its head chooses, the first at the first press. */
  sorts?: readonly [string, string];
  number?: boolean;
  /** Whether a phone leaves it out of this row. */
  isEmpty?: (row: R) => boolean;
}

export interface RowsProps<R> {
  total: number;
  rowAt: (index: number) => R | undefined;
  onRange: (range: Range) => void;
  linkOf: (id: string) => string;
  isPicked: (id: string) => boolean;
  isAllPicked: boolean;
  isSomePicked: boolean;
  onPick: (id: string) => void;
  onPickAll: () => void;
  sort: string;
  onSort: (sort: string) => void;
}

interface Props<R> extends RowsProps<R> {
  name: string;
  /** The word for one row, after `Select`. */
  noun: string;
  /** Must be the same array each time, so that only changed rows are drawn again. */
  columns: readonly ListColumn<R>[];
  /** Whether a row can be selected; all can without it. */
  canPick?: (row: R) => boolean;
  /** Opens a row that has no page; false for the others. */
  onOpen?: (row: R) => boolean;
}

/** The height of a row before one is drawn, in pixels. */
const GUESS = 34;
/** The least width of the column that has the rest, and that of the checkboxes, in rem. */
const REST = 14;
const BOX = 2;
/** The width of all columns that shrink together to fit, in rem. */
const FITS = 82;

export function PickTable<R extends { id: string }>(props: Props<R>) {
  const { name, noun, columns, total, rowAt, onRange, linkOf, isPicked, onPick, onPickAll, canPick, onOpen } = props;
  const table = useRef<HTMLTableElement>(null);
  const { range, height } = useWindow(table, total, GUESS);
  const latest = useRef<Range | null>(null);
  if (latest.current?.from !== range.from || latest.current.to !== range.to) {
    latest.current = range;
    // After this drawing: the parent must not change while a child draws.
    queueMicrotask(() => onRange(range));
  }
  const show = useCallback(
    (index: number): void => {
      const top = topOf(table.current) + index * height;
      const head = 100;
      const below = window.innerHeight - 80 - height;
      if (top < head) window.scrollBy({ top: top - head });
      else if (top > below) window.scrollBy({ top: top - below });
    },
    [height],
  );
  const pickableAt = (index: number): string | undefined => {
    const row = rowAt(index);
    return row === undefined || canPick?.(row) === false ? undefined : row.id;
  };
  const open = (index: number): void => {
    const row = rowAt(index);
    if (row !== undefined && !onOpen?.(row)) go(linkOf(row.id));
  };
  const here = useCursor({ total, idAt: pickableAt, open, onPick, onPickAll, show });
  const widest = useMemo(() => columns.reduce((sum, { width }) => sum + (width ?? REST), BOX), [columns]);
  const drawn = Array.from({ length: range.to - range.from }, (_, at) => range.from + at);
  // The usual columns fit any desktop; more have their full width, and the table scrolls sideways.
  const isWide = widest > FITS;
  const widthOf = (rem: number): React.CSSProperties => ({ width: isWide ? `${rem}rem` : `${(100 * rem) / widest}%` });
  const drawnTable = (
    <table
      ref={table}
      className={styles.table}
      aria-label={name}
      aria-rowcount={total + 1}
      style={
        {
          "--least": isWide ? `${widest}rem` : "0",
          "--lines": 1 + Math.ceil(columns.length / 3),
        } as React.CSSProperties
      }
    >
      <colgroup>
        <col style={widthOf(BOX)} />
        {columns.map(({ key, width = REST }) => (
          <col key={key} style={widthOf(width)} />
        ))}
      </colgroup>
      <thead>
        <tr aria-rowindex={1}>
          <th scope="col" className={styles.pick}>
            <AllBox {...props} />
          </th>
          {columns.map((column) => (
            <Head key={column.key} column={column} sort={props.sort} onSort={props.onSort} />
          ))}
        </tr>
      </thead>
      <Gap rows={range.from} height={height} width={columns.length + 1} />
      <tbody>
        {drawn.map((index) => {
          const row = rowAt(index);
          return row === undefined ? (
            <tr key={index} className={styles.row} data-row={index} aria-rowindex={index + 2} aria-busy="true">
              <td className={styles.pick} />
              <td colSpan={columns.length} className="faint">
                …
              </td>
            </tr>
          ) : (
            <Row
              key={row.id}
              row={row}
              index={index}
              noun={noun}
              columns={columns}
              picked={isPicked(row.id) && canPick?.(row) !== false}
              pickable={canPick?.(row) !== false}
              here={index === here}
              onPick={onPick}
            />
          );
        })}
      </tbody>
      <Gap rows={total - range.to} height={height} width={columns.length + 1} />
    </table>
  );
  return isWide ? (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keys must scroll a table that is wider than the screen
    <section className={styles.wide} tabIndex={0} aria-label={`${name}, wide`}>
      {drawnTable}
    </section>
  ) : (
    drawnTable
  );
}

type Picks = Pick<RowsProps<unknown>, "isAllPicked" | "isSomePicked" | "onPickAll">;

/** Selects all rows that match: checked, not, or mixed. */
export function AllBox({ isAllPicked, isSomePicked, onPickAll }: Picks) {
  return (
    <input
      ref={(box) => {
        if (box !== null) box.indeterminate = !isAllPicked && isSomePicked;
      }}
      type="checkbox"
      aria-label="Select all that match"
      checked={isAllPicked}
      onChange={onPickAll}
    />
  );
}

/** The room of rows that are not drawn. */
function Gap({ rows, height, width }: { rows: number; height: number; width: number }) {
  if (rows <= 0) return null;
  return (
    <tbody aria-hidden="true" className={styles.gap}>
      <tr>
        <td colSpan={width} style={{ height: rows * height }} />
      </tr>
    </tbody>
  );
}

interface HeadProps<R> {
  column: ListColumn<R>;
  sort: string;
  onSort: (sort: string) => void;
}

function Head<R>({ column, sort, onSort }: HeadProps<R>) {
  const { name, title, sorts, number } = column;
  const at = sorts === undefined ? -1 : sorts.indexOf(sort);
  const falls = sort === "newest" || sort.startsWith("-");
  const direction = at < 0 ? "none" : falls ? "descending" : "ascending";
  return (
    <th scope="col" className={number ? styles.number : undefined} title={title ?? name} aria-sort={sorts && direction}>
      {sorts === undefined ? (
        name
      ) : (
        <button type="button" className={styles.sorter} onClick={() => onSort(sorts[at === 0 ? 1 : 0])}>
          {name}
          <span aria-hidden="true">{{ descending: " ↓", ascending: " ↑", none: "" }[direction]}</span>
        </button>
      )}
    </th>
  );
}

interface RowProps<R> extends Pick<Props<R>, "noun" | "columns" | "onPick"> {
  row: R;
  index: number;
  picked: boolean;
  pickable: boolean;
  here: boolean;
}

const Row = memo(function Row<R extends { id: string }>(props: RowProps<R>) {
  const { row, index, noun, columns, picked, pickable, here, onPick } = props;
  return (
    <tr
      className={styles.row}
      data-row={index}
      data-picked={picked}
      data-here={here}
      data-head={pickable ? undefined : true}
      aria-rowindex={index + 2}
      aria-selected={picked}
    >
      <td className={styles.pick}>
        {pickable && (
          <input
            type="checkbox"
            aria-label={`Select ${noun} ${row.id}`}
            checked={picked}
            onChange={() => onPick(row.id)}
          />
        )}
      </td>
      {columns.map(({ key, name, look, number, cell, isEmpty }) => (
        <td
          key={key}
          className={[look, number && styles.number].filter(Boolean).join(" ") || undefined}
          data-name={number ? name : undefined}
          data-empty={isEmpty?.(row)}
        >
          {cell(row)}
        </td>
      ))}
    </tr>
  );
}) as <R extends { id: string }>(props: RowProps<R>) => ReactNode;
