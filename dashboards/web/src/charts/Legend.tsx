/** The legend below a chart: each line with its value at the pointer or the last one, and its mean and maximum in the window; of a
 * distribution, its median. The order changes only by a press on a head.
 */
import { useEffect, useMemo, useRef, useState } from "react";
import { Button } from "../parts/Button";
import { type Column, type Sort, sortedRows, Table } from "../parts/Table";
import { endAll } from "../store";
import { count } from "../units";
import styles from "./Legend.module.css";
import { type Line, valued } from "./line";
import { type Quantity, SECONDS } from "./quantities";
import { medianOf, type Statistics, statisticsOf } from "./readings";
import { valueAt } from "./samples";
import type { Span } from "./span";

interface Props {
  title: string;
  x: Quantity;
  y: Quantity;
  span: Span;
  lines: readonly Line[];
  onMore: ((listener: () => void) => () => void) | undefined;
}

interface Row extends Statistics {
  line: Line;
}

/** More lines than this are listed on request. */
export const MOST_LINES = 12;
/** While a run is running. */
const REFRESH_MS = 500;

export function Legend({ title, x, y, span, lines, onMore }: Props) {
  const named = useMemo(() => valued(lines), [lines]);
  const rows = useRows(named, span, onMore);
  const [all, setAll] = useState(false);
  const [sort, setSort] = useState<Sort>("");
  const isTime = x === SECONDS;
  const now = isTime ? "Last" : y.name;
  const cells = useRef(new Map<string, HTMLSpanElement>());
  const head = useRef<HTMLSpanElement>(null);
  // Values at the pointer change with every frame, so they are written without React.
  // biome-ignore lint/correctness/useExhaustiveDependencies: other rows have other cells
  useEffect(() => {
    const write = (): void => {
      if (span.moving) return;
      const time = span.cursor;
      if (head.current !== null) head.current.textContent = time === null ? now : x.say(time);
      for (const line of named) {
        const cell = cells.current.get(line.key);
        if (cell === undefined) continue;
        // Without a pointer, the last value of a time series is useful; that of a distribution is not.
        const value = time === null && !isTime ? null : valueAt(line.samples(span.shown), time ?? span.shown[1]);
        cell.textContent = y.say(value);
      }
    };
    write();
    return endAll(
      span.onPoint(write),
      span.onDraw(write),
      onMore?.(() => span.request(write)),
    );
  }, [named, rows, all, sort, span, x, y, isTime, now, onMore]);
  const columns = useMemo((): Column<Row>[] => {
    const number = (key: "mean" | "greatest" | "rise", name: string): Column<Row> => ({
      key,
      name,
      number: true,
      cell: (row) => y.say(row[key]),
      by: (row) => row[key],
    });
    const medianIn = ({ line }: Row): number | null => medianOf(line, span.shown);
    const medianText = (row: Row): string => x.say(medianIn(row));
    return [
      { key: "line", name: "Name", cell: ({ line }) => <Name line={line} />, by: ({ line }) => line.name },
      {
        key: "last",
        name: <span ref={head}>{now}</span>,
        number: true,
        cell: ({ line }) => (
          <span
            ref={(cell) => {
              if (cell === null) cells.current.delete(line.key);
              else cells.current.set(line.key, cell);
            }}
          />
        ),
        ...(isTime ? { by: (row) => row.last } : {}),
      },
      ...(!isTime
        ? [{ key: "median", name: "Median", number: true, cell: medianText, by: medianIn }]
        : y.counts
          ? [number("rise", "Added")]
          : [number("mean", "Mean"), number("greatest", "Max")]),
    ];
  }, [x, y, span, isTime, now]);
  if (named.length === 0) return null;
  // Of many lines, the first ones in this order.
  const ordered = sortedRows(rows, columns, sort);
  const shown = all ? ordered : ordered.slice(0, MOST_LINES);
  return (
    <div className={styles.legend}>
      <Table
        label={`Values of ${title}`}
        columns={columns}
        rows={shown}
        rowKey={({ line }) => line.key}
        sort={sort}
        onSort={setSort}
        dense
      />
      {rows.length > MOST_LINES && (
        <Button kind="quiet" aria-expanded={all} onClick={() => setAll(!all)}>
          {all ? `Show ${MOST_LINES}` : `Show all ${count(rows.length)}`}
        </Button>
      )}
    </div>
  );
}

function Name({ line }: { line: Line }) {
  return (
    <>
      <svg width="20" height="8" aria-hidden="true" className={styles.sample}>
        <path d="M0 4h20" stroke={line.colour} strokeWidth="2.5" strokeDasharray={line.dash.join(" ")} />
      </svg>
      {line.name}
    </>
  );
}

/** The statistics of the lines, again when the window has settled and, while a run is running, twice a second. */
function useRows(lines: readonly Line[], span: Span, onMore: Props["onMore"]): readonly Row[] {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const again = (): void => setVersion((now) => now + 1);
    let timer = 0;
    const later = (): void => {
      if (timer !== 0) return;
      timer = window.setTimeout(() => {
        timer = 0;
        again();
      }, REFRESH_MS);
    };
    return endAll(() => window.clearTimeout(timer), span.onSettled(again), onMore?.(later));
  }, [span, onMore]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: samples grow without another identity
  return useMemo(() => lines.map((line) => ({ line, ...statisticsOf(line, span.shown) })), [lines, span, version]);
}
