/** The first requests of a view, sent before the code of the page has arrived. The client takes an answer in place of its own request. */
import { FLOATS, pointsFor, SHOWN, seriesPath } from "../charts/request";
import { hasTrace, type Outline, type Run } from "../data/runDocument";
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
  for (const path of ["/session", ...firstOf(hash)]) send(path);
  const run = /^#(\/runs\/[0-9a-f]{16,})/.exec(hash)?.[1];
  if (run !== undefined) askSeries(run).catch(() => undefined);
}

/** The series of a run's page are asked for when the run and its outline are known. */
async function askSeries(own: string): Promise<void> {
  const [run, outline] = await Promise.all([copyOf<Run>(own), copyOf<Outline>(`${own}/outline`)]);
  if (hasTrace(run)) send(seriesPath(run.id, SHOWN, pointsFor(outline.flows.length), null), { Accept: FLOATS });
}

async function copyOf<T>(path: string): Promise<T> {
  const answer = await asked.get(urlOf(path))?.answer;
  if (!answer?.ok) throw new Error(path);
  return answer.clone().json();
}

const urlOf = (path: string): string => new URL(`${BASE}/api/v1${path}`, window.location.href).href;

function send(path: string, headers: Record<string, string> = {}): void {
  const url = urlOf(path);
  const answer = fetch(url, { headers });
  // The client sends the request again.
  answer.catch(() => asked.delete(url));
  asked.set(url, { answer, atMs: Date.now() });
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
