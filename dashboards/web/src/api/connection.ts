/** Whether the service responds. While it is away, the page retries every second, and continues when it is back. */
import { Store } from "../store";
import { addressOf } from "./address";

export type Connection = "connected" | "away";

const RETRY_MS = 1000;

export const connection = new Store<Connection>("connected");
const returned = new Set<() => void>();

/** Calls the listener whenever the service is back. */
export function onReturn(listener: () => void): () => void {
  returned.add(listener);
  return () => returned.delete(listener);
}

/** Resolves when the service is back. */
export function onceReturned(): Promise<void> {
  return new Promise((resolve) => {
    const unsubscribe = onReturn(() => {
      unsubscribe();
      resolve();
    });
  });
}

/** The service has responded. */
export function reached(): void {
  if (connection.get() === "connected") return;
  connection.set("connected");
  for (const listener of returned) listener();
}

/** The service has not responded. */
export function unreachable(): void {
  if (connection.get() === "away") return;
  connection.set("away");
  window.setTimeout(retry, RETRY_MS);
}

async function retry(): Promise<void> {
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
  window.setTimeout(retry, RETRY_MS);
}
