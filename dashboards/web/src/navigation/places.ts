/** How far each entry of the browser's history was scrolled, so that Back and a reload return to the same place. The browser's own way comes
 * too early: the content that was there is not drawn yet.
 */

import { leaveLink } from "./focus";

const KEY = "longhaul.places";
const MOST = 100;
/** After this time a page that has not become high enough stays where it is. */
const PATIENCE_MS = 5000;

window.history.scrollRestoration = "manual";
const tops = new Map<string, number>(kept());
let entry = named();
window.addEventListener("pagehide", () => {
  leavePlace();
  keep();
});

/** Remember where the page is, and the pressed link, before it shows another entry. */
function leavePlace(): void {
  tops.delete(entry);
  tops.set(entry, window.scrollY);
  leaveLink(entry);
}

/** The entry that the browser shows. */
export function entryNow(): string {
  return entry;
}

/** Note which entry the browser shows now; it may be the same one. */
export function arrive(): void {
  if (entryOf() === entry) return;
  leavePlace();
  entry = named();
}

/** The state of a new entry, which the page shows from now on. */
export function newEntry(): { entry: string } {
  leavePlace();
  entry = `${Date.now()}-${Math.random()}`;
  return { entry };
}

/** Scrolls to where the entry was, as soon as the page is high enough, unless the user does something first. */
export function returnToPlace(): () => void {
  const top = tops.get(entry) ?? 0;
  // It returns a promise in newer browsers.
  void window.scrollTo(0, top);
  if (Math.abs(window.scrollY - top) < 2) return () => undefined;
  const watch = new ResizeObserver(() => {
    void window.scrollTo(0, top);
    if (Math.abs(window.scrollY - top) < 2) stop();
  });
  const timer = window.setTimeout(() => stop(), PATIENCE_MS);
  const acts = ["wheel", "touchmove", "keydown", "pointerdown"] as const;
  const stop = (): void => {
    watch.disconnect();
    window.clearTimeout(timer);
    for (const act of acts) window.removeEventListener(act, stop);
  };
  for (const act of acts) window.addEventListener(act, stop, { passive: true });
  watch.observe(document.body);
  return stop;
}

function entryOf(): string | undefined {
  return (window.history.state as { entry?: string } | null)?.entry;
}

function named(): string {
  const known = entryOf();
  if (known !== undefined) return known;
  const fresh = `${Date.now()}-${Math.random()}`;
  window.history.replaceState({ entry: fresh }, "");
  return fresh;
}

function kept(): [string, number][] {
  try {
    return JSON.parse(window.sessionStorage.getItem(KEY) ?? "[]") as [string, number][];
  } catch {
    return [];
  }
}

function keep(): void {
  try {
    window.sessionStorage.setItem(KEY, JSON.stringify([...tops].slice(-MOST)));
  } catch {
    // A browser that keeps nothing begins at the top after a reload.
  }
}
