/** The first requests of a view, sent before the code of the page has arrived. The client takes an answer in place of its own request. */
import { firstOf } from "../navigation/firstRequests";
import { BASE } from "./address";

const FRESH_MS = 10_000;

interface Asked {
  answer: Promise<Response>;
  atMs: number;
}

declare global {
  /** By address. The first script is not part of the page's code, so it leaves the answers here. */
  var longhaulEarly: Map<string, Asked> | undefined;
}

globalThis.longhaulEarly ??= new Map();
const asked = globalThis.longhaulEarly;

/** Sends the first requests of the view at this address. */
export function askEarly(hash: string): void {
  // With a token in the address there is no session yet.
  if (/[?&]token=/.test(hash)) return;
  for (const path of ["/session", ...firstOf(hash)]) {
    const url = new URL(`${BASE}/api/v1${path}`, window.location.href).href;
    const answer = fetch(url);
    // The client sends the request again.
    answer.catch(() => asked.delete(url));
    asked.set(url, { answer, atMs: Date.now() });
  }
}

/** The answer to a request that was sent early, once; null for other requests. */
export function takeEarly(request: Request): Promise<Response> | null {
  const found = request.method === "GET" ? asked.get(request.url) : undefined;
  if (found === undefined) return null;
  asked.delete(request.url);
  return Date.now() - found.atMs < FRESH_MS ? found.answer : null;
}

/** Without a session no answer is of use. */
export function forgetEarly(): void {
  asked.clear();
}
