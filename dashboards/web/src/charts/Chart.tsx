/** A chart with its name, a tooltip at the pointer, its legend, its values as a table, and its files. Keys move the pointer while the
 * chart has the focus. What changes with the pointer is written without React.
 */
import "uplot/dist/uPlot.min.css";
import { type MouseEvent, useEffect, useRef, useState } from "react";

import { useTheme } from "../theme/theme";
import styles from "./Chart.module.css";
import { type Form, save } from "./exporting";
import { Legend } from "./Legend";
import type { Line, Mark } from "./line";
import { Plot } from "./plot";
import { type Quantity, SECONDS } from "./quantities";
import type { Window } from "./samples";
import type { SignKind } from "./signs";
import type { Span } from "./span";
import { steer } from "./steering";
import { Tools } from "./Tools";
import { tipText, writeTip } from "./tip";
import { ValueTable } from "./ValueTable";

interface Props {
  title: string;
  /** The name of its files. */
  file: string;
  x?: Quantity;
  y: Quantity;
  span: Span;
  lines: readonly Line[];
  marks?: readonly Mark[];
  rug?: (window: Window) => Float64Array;
  log?: boolean;
  height?: number;
  /** If set, values above all references are cut off, and this text explains them. */
  clip?: string;
  /** Times that measures leave out. */
  shaded?: readonly Window[];
  /** The sign of shaded times. */
  shade?: SignKind;
  top?: number | undefined;
  /** Subscribes to new samples. */
  onMore?: (listener: () => void) => () => void;
}

const NO_MARKS: readonly Mark[] = [];
const NO_WINDOWS: readonly Window[] = [];

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
  shade = "excluded",
  onMore,
}: Props) {
  const theme = useTheme();
  const [asTable, setAsTable] = useState(false);
  const host = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const peaks = useRef<HTMLParagraphElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: its colours depend on the theme
  useEffect(() => {
    const place = host.current;
    if (place === null) return;
    const onPeak = (peak: number | null): void => {
      if (peaks.current === null) return;
      peaks.current.hidden = peak === null;
      peaks.current.textContent = peak === null ? "" : `▲ up to ${y.say(peak)}: ${clip}`;
    };
    const plot = new Plot(place, {
      span, x, y, log, lines, marks, rug, height, top, shaded, clip: clip !== undefined, onPeak,
    }); // biome-ignore format: one look
    const options = { span, x, y, lines, marks };
    // The values are not legible while the window moves.
    const update = (): void => {
      if (span.moving) return;
      // Only one chart has the pointer or the focus; the others show the time.
      if (tip.current !== null && place.matches(":hover, :focus")) writeTip(tip.current, options);
      if (place !== document.activeElement) return;
      place.ariaValueNow = String(Math.round((span.share ?? 1) * 100));
      place.ariaValueText = tipText(options);
    };
    place.addEventListener("focus", update);
    const unsubscribe = [span.onPoint(update), span.onDraw(update)];
    const unsubscribeMore = onMore?.(() => {
      plot.refresh();
      span.request(update);
    });
    update();
    return () => {
      place.removeEventListener("focus", update);
      unsubscribeMore?.();
      for (const one of unsubscribe) one();
      plot.destroy();
    };
  }, [theme, span, x, y, log, lines, marks, rug, height, top, clip, shaded, onMore]);
  const keep = (form: Form): void => {
    const drawn = lines.map((line) => ({ ...line, samples: line.samples(span.shown) }));
    const signs = { marks, drops: rug?.(span.shown), shaded, shade };
    void save(form, file, { title, x, y, log, clip: clip !== undefined, window: span.shown, lines: drawn, ...signs });
  };
  return (
    <figure className={styles.chart} aria-label={title}>
      <figcaption className={styles.head}>
        <h2>{title}</h2>
        <Tools title={title} asTable={asTable} onTable={setAsTable} onSave={keep} />
      </figcaption>
      <div className={styles.plot}>
        <div
          ref={host}
          className={styles.host}
          style={{ height }}
          role="slider"
          tabIndex={0}
          aria-label={`${x.name} in ${title}`}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={100}
          onKeyDown={(event) => {
            if (!event.ctrlKey && !event.metaKey && !event.altKey && steer(span, event)) event.preventDefault();
          }}
          onMouseDown={leaveFocus}
          onBlur={() => span.point(null)}
        />
        <div ref={tip} className={styles.tip} aria-hidden="true" />
      </div>
      {clip !== undefined && <p ref={peaks} className={styles.peaks} hidden />}
      <Legend title={title} x={x} y={y} span={span} lines={lines} onMore={onMore} />
      {asTable && <ValueTable title={title} x={x} y={y} span={span} lines={lines} />}
    </figure>
  );
}

/** A press of the mouse zooms and does not focus the chart, so that the arrow keys still pan all charts. */
function leaveFocus(event: MouseEvent<HTMLElement>): void {
  event.preventDefault();
  if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
}
