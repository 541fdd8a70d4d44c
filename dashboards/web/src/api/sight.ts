/**
 * Whether anybody looks at the page. A browser has six connections to a service for all of its tabs together: one that is not
 * seen follows nothing, and takes up what it followed where it was as soon as it is seen again.
 */

// Whoever only looks something up in another tab comes back to a stream that never stopped.
const UNSEEN_MS = 5_000;

/** When the page is seen, or not wanted any more. */
export function inSight(stopped: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.hidden && !stopped.aborted) return;
      document.removeEventListener("visibilitychange", look);
      stopped.removeEventListener("abort", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look);
    stopped.addEventListener("abort", look);
    look();
  });
}

/** Call this once nobody has looked for a while, unless the function that this returns is called before. */
export function onceUnseen(act: () => void): () => void {
  let timer = 0;
  const look = (): void => {
    window.clearTimeout(timer);
    if (document.hidden) timer = window.setTimeout(act, UNSEEN_MS);
  };
  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    window.clearTimeout(timer);
    document.removeEventListener("visibilitychange", look);
  };
}

/** Call this whenever somebody looks again. */
export function onSight(act: () => void): void {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) act();
  });
}
