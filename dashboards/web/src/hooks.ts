/** Hooks that many parts need. */
import { type RefObject, useEffect, useRef, useState } from "react";

/** The value of the last drawing, for listeners that outlive it. */
export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useEffect(() => {
    latest.current = value;
  });
  return latest;
}

/** A value, once it has not changed for a moment. */
export function useSettled<T>(value: T, afterMs: number): T {
  const key = JSON.stringify(value);
  const [settled, setSettled] = useState(value);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is the value
  useEffect(() => {
    const timer = window.setTimeout(() => setSettled(value), afterMs);
    return () => window.clearTimeout(timer);
  }, [key, afterMs]);
  return settled;
}

/** The time in ms; while it is wanted, the component is drawn again so often. */
export function useNow(everyMs: number, wanted = true): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    if (!wanted) return;
    setNow(Date.now());
    const timer = window.setInterval(() => setNow(Date.now()), everyMs);
    return () => window.clearInterval(timer);
  }, [everyMs, wanted]);
  return now;
}
