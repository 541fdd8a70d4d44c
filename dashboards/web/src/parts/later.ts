/** An action that waits some seconds, in which it can be undone. It waits in the page: if the tab is closed before its time, nothing happens,
 * so that nothing is lost. It continues while other pages are shown.
 */
import { Store } from "../store";

export const WAIT_S = 8;

export interface Later {
  /** What will happen, or happens, or has happened, in one sentence. */
  text: string;
  state: "waiting" | "acting" | "over";
  /** When it begins. */
  at: number;
}

/** Reports the progress: another sentence. */
export type Tell = (text: string) => void;

export const later = new Store<Later | null>(null);
let begin: (() => void) | null = null;
let timer = 0;

/** Announce an action, and act when the time has passed; its result is the last sentence. One that still waits begins now. */
export function doLater(
  text: string,
  act: (tell: Tell) => Promise<string>,
  onUndo: () => void = () => undefined,
): void {
  begin?.();
  const mine: Later = { text, state: "waiting", at: Date.now() + 1000 * WAIT_S };
  let shown = mine;
  // A later action has its own sentence; this one then acts unseen.
  const tell = (now: string, state: Later["state"]): void => {
    if (later.get() !== shown) return;
    shown = { ...mine, text: now, state };
    later.set(shown);
  };
  later.set(mine);
  undo = onUndo;
  begin = () => {
    window.clearTimeout(timer);
    begin = null;
    tell(text, "acting");
    act((now) => tell(now, "acting")).then(
      (result) => tell(result, "over"),
      (error: unknown) => tell(error instanceof Error ? error.message : String(error), "over"),
    );
  };
  timer = window.setTimeout(() => begin?.(), 1000 * WAIT_S);
}

let undo: () => void = () => undefined;

/** Nothing happens. */
export function undoLater(): void {
  if (begin === null) return;
  window.clearTimeout(timer);
  begin = null;
  later.set(null);
  undo();
}

/** Without the rest of its time. */
export function doNow(): void {
  begin?.();
}

export function closeLater(): void {
  if (begin === null) later.set(null);
}
