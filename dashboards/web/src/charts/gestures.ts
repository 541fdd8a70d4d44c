/**
 * What is done to a chart with a wheel, a mouse or fingers, as changes of the span that it shows. What is held stays under what
 * holds it: one pointer moves the span along, two bring it closer or take it away.
 */
import type { Span } from "./span";

/** Where a pointer is, and the time that it holds. */
interface Hold {
  x: number;
  time: number;
}

/** Fingers closer to each other than this share of a chart say nothing of how far apart their times shall be. */
const LEAST_APART = 0.02;

export function followGestures(over: HTMLElement, span: Span): () => void {
  const holds = new Map<number, Hold>();
  const stop = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(kind: K, act: (event: HTMLElementEventMap[K]) => void): void =>
    over.addEventListener(kind, act, { signal: stop.signal, passive: false });
  const shareAt = (x: number): number => (x - over.getBoundingClientRect().left) / over.clientWidth;
  const timeAt = (x: number): number => {
    const [from, to] = span.shown;
    return from + shareAt(x) * (to - from);
  };
  on("wheel", (event) => {
    const along = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
    if (event.ctrlKey || event.metaKey) span.scale(1.0015 ** event.deltaY, timeAt(event.clientX));
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) span.move(along / over.clientWidth);
    else return;
    event.preventDefault();
  });
  on("pointerdown", (event) => {
    if (!pans(event) && event.pointerType !== "touch") return;
    holds.set(event.pointerId, { x: event.clientX, time: timeAt(event.clientX) });
    if (event.pointerType !== "touch") over.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    const moved = holds.get(event.pointerId);
    if (moved === undefined) return;
    moved.x = event.clientX;
    const [one, other] = holds.values();
    if (one !== undefined && other !== undefined) pinch(one, other);
    else if (span.zoom !== null) {
      const [from, to] = span.shown;
      span.move((moved.time - timeAt(moved.x)) / (to - from));
    }
  });
  const pinch = (one: Hold, other: Hold): void => {
    const apart = shareAt(other.x) - shareAt(one.x);
    const length = (other.time - one.time) / apart;
    if (Math.abs(apart) < LEAST_APART || length <= 0) return;
    const begin = one.time - shareAt(one.x) * length;
    span.show([begin, begin + length]);
  };
  const release = ({ pointerId }: PointerEvent): void => {
    holds.delete(pointerId);
    for (const left of holds.values()) left.time = timeAt(left.x);
  };
  on("pointerup", release);
  on("pointercancel", release);
  on("pointerleave", () => span.point(null));
  on("mousemove", (event) => span.point(shareAt(event.clientX)));
  on("dblclick", () => span.show(null));
  return () => stop.abort();
}

export function pans(event: MouseEvent): boolean {
  return event.shiftKey || event.button === 1;
}
