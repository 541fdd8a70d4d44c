/** A drawing that is no line over time alone: its name, its SVG at the width of its place, its key, its values as a table, its files.
 * Keys move through what it shows while it has the focus.
 */
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import chart from "../charts/Chart.module.css";
import { Tools } from "../charts/Tools";
import styles from "./Drawing.module.css";
import { type Rows, saveDrawing } from "./saving";

export interface KeyEntry {
  /** A sample in a box of 20 by 12. */
  sample: ReactNode;
  text: string;
}

/** A place in the drawing, in its pixels. */
export interface Place {
  x: number;
  y: number;
}

interface Props {
  title: string;
  /** The name of its files. */
  file: string;
  height: number;
  /** Below this width it scrolls. */
  leastWidth?: number;
  /** The parts of the SVG for a width. */
  children: (width: number) => ReactNode;
  keys?: readonly KeyEntry[];
  /** Rows of the table and of the CSV file, the first one with the heads. */
  rows: () => Rows;
  /** What the pointer or the keys have found, as text: shown at the side and read by screen readers. */
  found?: string | undefined;
  /** The same for what changes with every frame: called with the function that writes the text; returns the end of it. */
  onFind?: ((write: (text: string) => void) => () => void) | undefined;
  /** What lies over the drawing, at its size. */
  over?: ((width: number) => ReactNode) | undefined;
  onPoint?: ((place: Place | null, width: number) => void) | undefined;
  onPress?: ((place: Place, width: number) => void) | undefined;
  /** Returns whether the key was used. */
  onKey?: ((event: KeyboardEvent) => boolean) | undefined;
  /** Choices at the right of the name. */
  tools?: ReactNode;
  /** What is below the drawing. */
  foot?: ReactNode;
}

const MOST_ROWS = 200;
const EMPTY = "\u00a0";

export function Drawing(props: Props) {
  const { title, file, height, leastWidth = 0, children, keys = [], rows, found, tools, foot } = props;
  const { onPoint, onPress, onKey, onFind, over } = props;
  const text = useRef<HTMLParagraphElement>(null);
  const host = useRef<HTMLDivElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  const [place, setPlace] = useState(0);
  const [asTable, setAsTable] = useState(false);
  useLayoutEffect(() => {
    const element = host.current;
    if (element === null) return;
    setPlace(element.clientWidth);
    const resized = new ResizeObserver(() => setPlace(element.clientWidth));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  const width = Math.max(place, leastWidth);
  useEffect(
    () =>
      onFind?.((now) => {
        if (text.current !== null) text.current.textContent = now || EMPTY;
        if (svg.current !== null) svg.current.ariaValueText = now || title;
      }),
    [onFind, title],
  );
  const at = (event: PointerEvent): Place => {
    const box = event.currentTarget.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  return (
    <figure className={chart.chart} aria-label={title}>
      <figcaption className={styles.head}>
        <h2>{title}</h2>
        {tools}
        <Tools
          title={title}
          asTable={asTable}
          onTable={setAsTable}
          onSave={(form) => {
            if (svg.current === null) return;
            void saveDrawing(form, file, { svg: svg.current, title, keys: keys.map(({ text }) => text), rows });
          }}
        />
      </figcaption>
      <div
        ref={host}
        className={styles.host}
        style={{ minHeight: height }}
        tabIndex={leastWidth > place ? 0 : undefined}
      >
        {width > 0 && (
          <svg
            ref={svg}
            className={styles.svg}
            width={width}
            height={height}
            viewBox={`0 0 ${width} ${height}`}
            {...(onKey
              ? { role: "slider", tabIndex: 0, "aria-valuenow": 0, "aria-valuetext": found || title }
              : { role: "img" })}
            aria-label={title}
            data-press={onPress !== undefined || undefined}
            onPointerMove={onPoint && ((event) => onPoint(at(event), width))}
            onPointerLeave={onPoint && (() => onPoint(null, width))}
            onClick={onPress && ((event) => onPress(at(event as unknown as PointerEvent), width))}
            onBlur={onPoint && (() => onPoint(null, width))}
            onKeyDown={(event) => {
              if (!event.ctrlKey && !event.metaKey && !event.altKey && onKey?.(event)) {
                event.preventDefault();
                event.stopPropagation();
              }
            }}
          >
            {children(width)}
          </svg>
        )}
        {width > 0 && over?.(width)}
      </div>
      {(found !== undefined || onFind !== undefined) && (
        <p ref={text} className={styles.found} aria-hidden="true">
          {found || EMPTY}
        </p>
      )}
      {keys.length > 0 && (
        <ul className={styles.keys} aria-label={`Signs in ${title}`}>
          {keys.map(({ sample, text }) => (
            <li key={text}>
              <svg width="20" height="12" aria-hidden="true">
                {sample}
              </svg>
              {text}
            </li>
          ))}
        </ul>
      )}
      {foot}
      {asTable && <RowsTable title={title} rows={rows()} />}
    </figure>
  );
}

function RowsTable({ title, rows }: { title: string; rows: Rows }) {
  const [heads = [], ...all] = rows;
  return (
    <>
      <p className={styles.count}>
        {all.length > MOST_ROWS ? `${MOST_ROWS} of ${all.length} rows; save all as CSV` : `${all.length} rows`}
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keys must scroll it */}
      <section className={styles.rows} tabIndex={0} aria-label={`${title} as a table`}>
        <table>
          <thead>
            <tr>
              {heads.map((head) => (
                <th key={head} scope="col">
                  {head}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {all.slice(0, MOST_ROWS).map((row, at) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
              <tr key={at}>
                {row.map((cell, column) => (
                  // biome-ignore lint/suspicious/noArrayIndexKey: nor do cells
                  <td key={column}>{typeof cell === "number" ? Number(cell.toPrecision(6)) : cell}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}
