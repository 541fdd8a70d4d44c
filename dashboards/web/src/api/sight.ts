/** Visibility of the page. A browser has six connections to a service for all of its tabs: a hidden tab closes its streams, and
 * resumes them when it is visible again.
 */

// A short look at another tab does not interrupt a stream.
const UNSEEN_MS = 5_000;

/** Resolves when the page is visible, or when it is stopped. */
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

/** Calls `act` when the page has been hidden for a while, unless the returned function is called before. */
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

/** Calls `act` whenever the page becomes visible again. */
export function onSight(act: () => void): void {
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) act();
  });
}
