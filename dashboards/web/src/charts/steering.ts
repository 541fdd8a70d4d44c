/** Keys that move the pointer of a chart: the arrows (Shift: ten steps), Home and End; Escape removes it. */
import type { Span } from "./span";

const STEP = 1 / 100;
const LEAP = 1 / 10;

/** The new pointer as a share of the window; undefined if the key does not move it. */
export function steered(key: string, leap: boolean, now: number | null): number | null | undefined {
  const by = leap ? LEAP : STEP;
  const from = now ?? 1;
  if (key === "ArrowLeft") return Math.max(0, from - by);
  if (key === "ArrowRight") return Math.min(1, (now ?? -by) + by);
  if (key === "Home") return 0;
  if (key === "End") return 1;
  if (key === "Escape" && now !== null) return null;
  return undefined;
}

/** Returns whether the key moved the pointer. */
export function steer(span: Span, { key, shiftKey }: Pick<KeyboardEvent, "key" | "shiftKey">): boolean {
  const next = steered(key, shiftKey, span.share);
  if (next === undefined) return false;
  span.point(next);
  return true;
}
