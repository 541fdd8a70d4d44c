/** The series of a kept run: coarse for the whole run, fine for the window. A zoom is drawn at once from the loaded values, and
 * again when finer values have arrived. The neighbours of a window are loaded too, so that a pan finds them.
 */
import { addressOf } from "../api/address";
import { ask } from "../api/client";
import { Problem } from "../api/problem";
import { FLOATS, seriesPath } from "./request";
import { NOTHING, type Samples, type Window } from "./samples";
import { keyOf, Listeners, type Source } from "./source";

interface Series {
  window: Window;
  series: Map<string, Samples>;
}

interface Row {
  measure: string;
  of: string;
  count: number;
}

/** Several series of a run, of a window or of the whole run. */
export async function fetchSeries(
  run: string,
  measures: readonly string[],
  points: number,
  window: Window | null,
  signal: AbortSignal,
): Promise<Map<string, Samples>> {
  const address = addressOf(`/api/v1${seriesPath(run, measures, points, window)}`);
  const answer = await ask(new Request(address, { headers: { Accept: FLOATS }, signal }));
  if (!answer.ok) throw Problem.of(answer, await answer.json().catch(() => null));
  return readSeries(await answer.arrayBuffer());
}

/** Parses the binary form of GET /runs/{id}/timelines. */
export function readSeries(content: ArrayBuffer): Map<string, Samples> {
  const length = new DataView(content).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(new Uint8Array(content, 4, length))) as { series: Row[] };
  const found = new Map<string, Samples>();
  let at = 4 + length;
  for (const { measure, of, count } of head.series) {
    const [t, v] = [new Float64Array(content, at, count), new Float64Array(content, at + count * 8, count)];
    found.set(keyOf(measure, of), { t, v });
    at += count * 16;
  }
  return found;
}

export class KeptRun implements Source {
  readonly #listeners = new Listeners();
  readonly #stopped = new AbortController();
  #all: Series | null = null;
  #part: Series | null = null;
  #pending: AbortController | null = null;

  constructor(
    readonly run: string,
    readonly whole: Window,
    readonly measures: readonly string[],
    readonly points: number,
  ) {}

  readonly onMore = this.#listeners.add;

  /** Loads the whole run, coarsely. */
  async open(): Promise<void> {
    const series = await fetchSeries(this.run, this.measures, this.points, null, this.#stopped.signal);
    this.#all = { window: this.whole, series };
    this.#listeners.call();
  }

  samples(measure: string, of: string, [from, to]: Window): Samples {
    const part = this.#part;
    const found = part !== null && part.window[0] <= from && to <= part.window[1] ? part : this.#all;
    return found?.series.get(keyOf(measure, of)) ?? NOTHING;
  }

  /** Loads finer values for a window; null: the whole run is shown. */
  async look(window: Window | null): Promise<void> {
    this.#pending?.abort();
    if (window === null || this.#isFine(window)) return;
    const pending = new AbortController();
    this.#pending = pending;
    const length = window[1] - window[0];
    const wide: Window = [Math.max(this.whole[0], window[0] - length), Math.min(this.whole[1], window[1] + length)];
    const series = await fetchSeries(this.run, this.measures, this.points * 3, wide, pending.signal);
    this.#part = { window: wide, series };
    this.#listeners.call();
  }

  close(): void {
    this.#stopped.abort();
    this.#pending?.abort();
  }

  /** Whether the loaded part is fine enough for the window, with space on both sides. */
  #isFine([from, to]: Window): boolean {
    const part = this.#part;
    if (part === null) return false;
    const length = to - from;
    const [first, last] = [Math.max(this.whole[0], from - length / 2), Math.min(this.whole[1], to + length / 2)];
    return part.window[0] <= first && last <= part.window[1] && part.window[1] - part.window[0] <= length * 4;
  }
}
