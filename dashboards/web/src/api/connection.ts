/** Whether the service answers. While it does not, it is asked every second or so, and the page goes on when it is back. */
import { Store } from "../store";
import { addressOf } from "./address";

export type Connection = "connected" | "away";

const ASK_AGAIN_MS = 1000;

export const connection = new Store<Connection>("connected");
const returned = new Set<() => void>();

/** Call this whenever the service comes back. */
export function onReturn(listener: () => void): () => void {
  returned.add(listener);
  return () => returned.delete(listener);
}

/** When the service is back. */
export function onceReturned(): Promise<void> {
  return new Promise((resolve) => {
    const forget = onReturn(() => {
      forget();
      resolve();
    });
  });
}

/** Something was answered. */
export function reached(): void {
  if (connection.get() === "connected") return;
  connection.set("connected");
  for (const listener of returned) listener();
}

/** Nobody answered. */
export function unreachable(): void {
  if (connection.get() === "away") return;
  connection.set("away");
  window.setTimeout(askAgain, ASK_AGAIN_MS);
}

async function askAgain(): Promise<void> {
  if (connection.get() === "connected") return;
  try {
    const answer = await fetch(addressOf("/readyz"), { cache: "no-store" });
    if (answer.ok) {
      reached();
      return;
    }
  } catch {
    // Still away.
  }
  window.setTimeout(askAgain, ASK_AGAIN_MS);
}
