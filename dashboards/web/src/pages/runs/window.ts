/** The rows that are drawn of a long list: those in sight and some around them, at most `MOST_ROWS`, however many there are. All rows have
 * the same height, so the place of each is known, and the scroll bar is that of the whole list.
 */
import { type RefObject, useEffect, useLayoutEffect, useState, useSyncExternalStore } from "react";

export const MOST_ROWS = 100;
/** Rows come and go in steps, so that most movements of the page draw nothing. */
const STEP = 10;

export interface Range {
  from: number;
  /** The first row behind it. */
  to: number;
}

/** The rows to draw: `above` is how far the first row is above the upper edge of the window, in pixels. */
export function rangeOf(above: number, windowHeight: number, rowHeight: number, total: number): Range {
  const first = Math.floor(above / rowHeight);
  const last = Math.ceil((above + windowHeight) / rowHeight);
  const around = Math.max(0, Math.min(2 * STEP, Math.floor((MOST_ROWS - (last - first)) / 2) - STEP));
  const from = Math.max(0, STEP * Math.floor((first - around) / STEP));
  const to = Math.min(total, from + MOST_ROWS, STEP * Math.ceil((last + around) / STEP));
  return to <= from ? { from: Math.max(0, total - STEP), to: total } : { from, to };
}

/** Where the first row of a table begins, in pixels below the upper edge of the window. */
export function topOf(table: HTMLTableElement | null): number {
  if (table === null) return 0;
  return table.getBoundingClientRect().top + (table.tHead?.offsetHeight ?? 0);
}

/** The rows to draw of a table, and their height. Before a row is drawn, `guess` is its height. */
export function useWindow(
  table: RefObject<HTMLTableElement | null>,
  total: number,
  guess: number,
): { range: Range; height: number } {
  const [height, setHeight] = useState(guess);
  const [range, setRange] = useState<Range>({ from: 0, to: Math.min(total, 4 * STEP) });
  useLayoutEffect(() => {
    const measured = table.current?.querySelector("tr[data-row]")?.getBoundingClientRect().height ?? 0;
    if (measured > 0 && Math.abs(measured - height) > 0.01) setHeight(measured);
  });
  useLayoutEffect(() => {
    const look = (): void => {
      const next = rangeOf(-topOf(table.current), window.innerHeight, height, total);
      setRange((now) => (now.from === next.from && now.to === next.to ? now : next));
    };
    look();
    window.addEventListener("scroll", look, { passive: true });
    window.addEventListener("resize", look);
    return () => {
      window.removeEventListener("scroll", look);
      window.removeEventListener("resize", look);
    };
  }, [table, total, height]);
  return { range, height };
}

/** A value that follows another at most every `ms`: dragging the scroll bar does not request every page on the way. */
export function useThrottled<T>(value: T, ms: number): T {
  const [shown, setShown] = useState(value);
  const [last, setLast] = useState(0);
  useEffect(() => {
    if (Object.is(shown, value)) return;
    const timer = window.setTimeout(
      () => {
        setShown(value);
        setLast(Date.now());
      },
      Math.max(0, last + ms - Date.now()),
    );
    return () => window.clearTimeout(timer);
  }, [value, shown, last, ms]);
  return shown;
}

/** Whether the window is so narrow that a row takes several lines. */
export function useNarrow(): boolean {
  return useSyncExternalStore(
    (changed) => {
      const asked = narrow();
      asked.addEventListener("change", changed);
      return () => asked.removeEventListener("change", changed);
    },
    () => narrow().matches,
  );
}

function narrow(): MediaQueryList {
  return window.matchMedia("(max-width: 60rem)");
}
