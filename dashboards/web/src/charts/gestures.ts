/** Gestures on a chart with a wheel, a mouse or fingers. The time under a pointer stays under it: one pointer pans, two zoom.
 */
import type { Span } from "./span";

/** The position of a pointer, and the time that it drags. */
interface Drag {
  x: number;
  time: number;
}

/** Fingers closer together than this share of a chart do not zoom. */
const LEAST_APART = 0.02;

export function followGestures(over: HTMLElement, span: Span): () => void {
  const drags = new Map<number, Drag>();
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
    drags.set(event.pointerId, { x: event.clientX, time: timeAt(event.clientX) });
    if (event.pointerType !== "touch") over.setPointerCapture(event.pointerId);
  });
  on("pointermove", (event) => {
    const moved = drags.get(event.pointerId);
    if (moved === undefined) return;
    moved.x = event.clientX;
    const [one, other] = drags.values();
    if (one !== undefined && other !== undefined) pinch(one, other);
    else if (span.zoom !== null) {
      const [from, to] = span.shown;
      span.move((moved.time - timeAt(moved.x)) / (to - from));
    }
  });
  const pinch = (one: Drag, other: Drag): void => {
    const apart = shareAt(other.x) - shareAt(one.x);
    const length = (other.time - one.time) / apart;
    if (Math.abs(apart) < LEAST_APART || length <= 0) return;
    const begin = one.time - shareAt(one.x) * length;
    span.show([begin, begin + length]);
  };
  const release = ({ pointerId }: PointerEvent): void => {
    drags.delete(pointerId);
    for (const left of drags.values()) left.time = timeAt(left.x);
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
