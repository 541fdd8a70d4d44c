/** A chart with its name, the values at the pointer, and its files. Text that changes with the pointer is written without React. */
import "uplot/dist/uPlot.min.css";
import { useEffect, useRef } from "react";
import { Menu } from "../parts/Menu";
import { useTheme } from "../theme/theme";
import styles from "./Chart.module.css";
import { type Form, save } from "./exporting";
import { type Line, type Mark, Plot } from "./plot";
import { type Quantity, SECONDS } from "./quantities";
import { valueAt, type Window } from "./samples";
import type { Span } from "./span";

export interface ChartLine extends Line {
  /** Its position among the lines; files use the colours of the light theme. */
  place: number;
  /** Without a value at the pointer: a companion of another line. */
  silent?: boolean;
}

interface Props {
  title: string;
  /** The name of its files. */
  file: string;
  x?: Quantity;
  y: Quantity;
  span: Span;
  lines: readonly ChartLine[];
  marks?: readonly Mark[];
  rug?: (window: Window) => Float64Array;
  log?: boolean;
  height?: number;
  /** If set, values above all references are cut off, and this text explains them. */
  clip?: string;
  /** Times that measures leave out. */
  shaded?: readonly Window[];
  top?: number | undefined;
  /** Subscribes to new samples. */
  onMore?: (listener: () => void) => () => void;
}

const NO_MARKS: readonly Mark[] = [];
const NO_WINDOWS: readonly Window[] = [];
// The values that fit in a line.
const MOST_VALUES = 6;

export function Chart({
  title,
  file,
  x = SECONDS,
  y,
  span,
  lines,
  marks = NO_MARKS,
  rug,
  log = false,
  height = 190,
  top,
  clip,
  shaded = NO_WINDOWS,
  onMore,
}: Props) {
  const theme = useTheme();
  const host = useRef<HTMLDivElement>(null);
  const output = useRef<HTMLOutputElement>(null);
  const peaks = useRef<HTMLParagraphElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: its colours depend on the theme
  useEffect(() => {
    const [place, text] = [host.current, output.current];
    if (place === null || text === null) return;
    const onPeak = (peak: number | null): void => {
      if (peaks.current === null) return;
      peaks.current.hidden = peak === null;
      peaks.current.textContent = peak === null ? "" : `▲ up to ${y.say(peak)}: ${clip}`;
    };
    const plot = new Plot(place, {
      span, x, y, log, lines, marks, rug, height, top, shaded, clip: clip !== undefined, onPeak,
    }); // biome-ignore format: one look
    // The values are not legible while the window moves.
    const update = (): void => {
      if (!span.moving) showValues(text, span, x, y, lines, marks);
    };
    const unsubscribe = [span.onPoint(update), span.onDraw(update)];
    const unsubscribeMore = onMore?.(() => {
      plot.refresh();
      span.request(update);
    });
    update();
    return () => {
      unsubscribeMore?.();
      for (const one of unsubscribe) one();
      plot.destroy();
    };
  }, [theme, span, x, y, log, lines, marks, rug, height, top, clip, shaded, onMore]);
  const keep = (form: Form): void => {
    const drawn = lines.map((line) => ({ ...line, samples: line.samples(span.shown) }));
    void save(form, file, { title, x, y, log, clip: clip !== undefined, shaded, window: span.shown, lines: drawn });
  };
  return (
    <figure className={styles.chart} aria-label={title}>
      <figcaption className={styles.head}>
        <h2>{title}</h2>
        <output ref={output} className={styles.output} />
        <Menu label={`Save ${title}`} name={<span className={styles.save}>Save</span>}>
          {(["svg", "png", "csv"] as const).map((form) => (
            <button key={form} type="button" className={styles.form} onClick={() => keep(form)}>
              {form.toUpperCase()}
            </button>
          ))}
        </Menu>
      </figcaption>
      <div ref={host} className={styles.host} style={{ height }} />
      {clip !== undefined && <p ref={peaks} className={styles.peaks} hidden />}
    </figure>
  );
}

/** The values at the pointer, or at the end of the window. */
function showValues(
  text: HTMLElement,
  span: Span,
  x: Quantity,
  y: Quantity,
  lines: readonly ChartLine[],
  marks: readonly Mark[],
): void {
  const [from, to] = span.shown;
  const time = span.cursor ?? to;
  const named = lines.filter((line) => !line.silent && !line.reference);
  const values = named
    .map((line) => ({ line, value: valueAt(line.samples(span.shown), time) }))
    .filter(({ value }) => value !== null);
  if (values.length > MOST_VALUES) values.sort((a, b) => (b.value ?? 0) - (a.value ?? 0));
  const near = span.cursor === null ? undefined : marks.find((mark) => Math.abs(mark.t - time) < (to - from) / 120);
  const parts: Node[] = [];
  if (span.cursor !== null) parts.push(part("time", x.say(time)));
  for (const { line, value } of values.slice(0, MOST_VALUES)) {
    // Without a pointer, the last value of a time series is useful; that of a distribution is not.
    const one = part("value", span.cursor === null && x !== SECONDS ? "" : y.say(value));
    one.style.setProperty("--line-colour", line.colour);
    one.title = line.name;
    if (named.length > 1) one.prepend(`${line.name} `);
    parts.push(one);
  }
  if (values.length > MOST_VALUES) parts.push(part("more", `and ${values.length - MOST_VALUES} more`));
  if (near !== undefined) parts.push(part("mark", near.text));
  text.replaceChildren(...parts);
}

function part(kind: "time" | "value" | "more" | "mark", text: string): HTMLElement {
  const span = document.createElement("span");
  span.className = styles[kind] ?? "";
  span.textContent = text;
  return span;
}
