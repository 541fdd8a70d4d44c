/** The focus after a change of the view: on the heading of the page, which a screen reader then reads once, or on Back on the link that led away. */

/** For so long the page waits for the link, then it takes the heading. */
const LINK_MS = 1500;
/** A busy service may be slow to give a page its first data. After this time a page without a heading has the focus itself. */
const PATIENCE_MS = 30_000;

/** A pressed link: its address, and its place among the links with this address. */
interface Pressed {
  href: string;
  place: number;
}

const links = new Map<string, Pressed>();
let pressed: Pressed | null = null;
let shown: string | null = null;

// Not every browser gives a pressed link the focus.
window.addEventListener(
  "click",
  (event) => {
    const link = event.target instanceof Element ? event.target.closest('a[href^="#"]') : null;
    const href = link?.getAttribute("href") ?? "";
    pressed = link === null ? null : { href, place: linksTo(href).indexOf(link as HTMLElement) };
  },
  true,
);

/** Remember the link that leads away from an entry of the history. */
export function leaveLink(entry: string): void {
  if (pressed !== null) links.set(entry, pressed);
  pressed = null;
}

/** Moves the focus into the view at a path, as soon as there is something to focus, unless the user does something first. */
export function focusView(path: string, entry: string): () => void {
  const isFirst = shown === null || shown === path;
  shown = path;
  if (isFirst) return () => undefined;
  const link = links.get(entry);
  const begun = performance.now();
  const before = document.activeElement;
  const acts = ["keydown", "pointerdown"] as const;
  const look = (): void => {
    const waited = performance.now() - begun;
    const heading = link === undefined || waited >= LINK_MS ? document.querySelector<HTMLElement>("main h1") : null;
    const found = (link && linksTo(link.href)[link.place]) ?? heading;
    const target = found ?? (waited >= PATIENCE_MS ? document.querySelector<HTMLElement>("main") : null);
    // A part of the page has taken the focus.
    const taken = document.activeElement !== before && document.activeElement !== document.body;
    if (target === null && !taken) return;
    stop();
    if (!taken) focus(target);
  };
  const watch = new MutationObserver(look);
  const timers = [LINK_MS, PATIENCE_MS].map((after) => window.setTimeout(look, after));
  const stop = (): void => {
    watch.disconnect();
    for (const timer of timers) window.clearTimeout(timer);
    for (const act of acts) window.removeEventListener(act, stop, true);
  };
  for (const act of acts) window.addEventListener(act, stop, true);
  watch.observe(document.body, { subtree: true, childList: true });
  look();
  return stop;
}

function focus(target: HTMLElement | null): void {
  if (target === null) return;
  if (target.tabIndex < 0) target.tabIndex = -1;
  // The place of the page is restored apart from the focus.
  target.focus({ preventScroll: true });
}

function linksTo(href: string): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>("a[href]")].filter((one) => one.getAttribute("href") === href);
}
