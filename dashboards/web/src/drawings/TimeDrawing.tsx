/** A drawing over the time that the charts of a run share: the pointer, the zoom and the keys are theirs. What it draws changes when the
 * window has settled; the pointer moves without React.
 */
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { followGestures, pans } from "../charts/gestures";
import { SECONDS } from "../charts/quantities";
import type { Window } from "../charts/samples";
import type { Span } from "../charts/span";
import { steer } from "../charts/steering";
import { endAll } from "../store";
import { Axes, type Axis, type Box, boxOf } from "./Axes";
import { Drawing, type KeyEntry } from "./Drawing";
import type { Rows } from "./saving";
import { linear } from "./scale";
import styles from "./TimeDrawing.module.css";

interface Props {
  title: string;
  file: string;
  span: Span;
  height?: number;
  y: Axis;
  /** What is drawn behind the axes, and in front of them. */
  behind?: (box: Box, x: Axis["scale"]) => ReactNode;
  children: (box: Box, x: Axis["scale"]) => ReactNode;
  keys: readonly KeyEntry[];
  rows: () => Rows;
  /** The values at a time as text. */
  say: (time: number) => string;
  tools?: ReactNode;
  foot?: ReactNode;
}

const DRAG_PX = 4;

/** The window of the charts once it has settled. */
export function useShown(span: Span): Window {
  const [shown, setShown] = useState(span.shown);
  useEffect(() => {
    setShown(span.shown);
    return span.onSettled(() => setShown(span.shown));
  }, [span]);
  return shown;
}

export function TimeDrawing({ span, height = 240, y, behind, children, say, ...rest }: Props) {
  const shown = useShown(span);
  const x = useMemo(() => ({ scale: linear(shown, 7), name: SECONDS.name, texts: SECONDS.ticks }), [shown]);
  const onFind = useCallback(
    (write: (text: string) => void) =>
      span.onPoint(() => {
        const time = span.cursor;
        write(time === null ? "" : `${SECONDS.say(time)}: ${say(time)}`);
      }),
    [span, say],
  );
  return (
    <Drawing
      {...rest}
      height={height}
      onFind={onFind}
      onKey={(event) => steer(span, event)}
      over={(width) => <Over box={boxOf(width, height)} span={span} />}
    >
      {(width) => {
        const box = boxOf(width, height);
        return (
          <>
            {behind?.(box, x.scale)}
            <Axes box={box} x={x} y={y} />
            {children(box, x.scale)}
          </>
        );
      }}
    </Drawing>
  );
}

/** The pointer, and the gestures of charts: drag to zoom, Shift and drag to pan. */
function Over({ box, span }: { box: Box; span: Span }) {
  const host = useRef<HTMLDivElement>(null);
  const line = useRef<HTMLDivElement>(null);
  const chosen = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (element === null) return;
    const move = (): void => {
      if (line.current === null) return;
      line.current.hidden = span.share === null;
      line.current.style.left = `${(span.share ?? 0) * 100}%`;
    };
    move();
    return endAll(span.onPoint(move), followGestures(element, span), followDrags(element, chosen.current, span));
  }, [span]);
  return (
    <div
      ref={host}
      className={styles.over}
      style={{ left: box.left, top: box.top, width: box.width, height: box.height }}
    >
      <div ref={line} className={styles.line} hidden />
      <div ref={chosen} className={styles.chosen} hidden />
    </div>
  );
}

function followDrags(element: HTMLElement, chosen: HTMLElement | null, span: Span): () => void {
  const stop = new AbortController();
  const shareAt = (x: number): number =>
    Math.max(0, Math.min(1, (x - element.getBoundingClientRect().left) / element.clientWidth));
  let begin: number | null = null;
  const show = (share: number | null): void => {
    if (chosen === null) return;
    chosen.hidden = share === null || begin === null;
    if (share === null || begin === null) return;
    chosen.style.left = `${Math.min(begin, share) * 100}%`;
    chosen.style.width = `${Math.abs(share - begin) * 100}%`;
  };
  const on = <K extends "mousedown" | "mousemove" | "mouseup">(
    target: HTMLElement | Document,
    kind: K,
    act: (event: MouseEvent) => void,
  ): void => target.addEventListener(kind, act as EventListener, { signal: stop.signal });
  on(element, "mousedown", (event) => {
    if (pans(event)) return;
    event.preventDefault();
    begin = shareAt(event.clientX);
  });
  on(document, "mousemove", (event) => {
    if (begin !== null) show(shareAt(event.clientX));
  });
  on(document, "mouseup", (event) => {
    if (begin === null) return;
    const [from, to] = [Math.min(begin, shareAt(event.clientX)), Math.max(begin, shareAt(event.clientX))];
    begin = null;
    show(null);
    if ((to - from) * element.clientWidth < DRAG_PX) return;
    const [first, last] = span.shown;
    span.show([first + from * (last - first), first + to * (last - first)]);
  });
  return () => stop.abort();
}
