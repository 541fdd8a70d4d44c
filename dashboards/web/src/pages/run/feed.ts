/** The live stream of a running run (GET /runs/{id}/live). It sends the samples of whole cells of time, in order, each once.
 * After a break the stream continues where it was, and `begin` states from when, so that samples are neither lost nor doubled.
 */
import type { ServerEvent } from "../../api/sse";
import { Growing, meanAt, NOTHING, type Samples } from "../../charts/samples";
import { keyOf, Listeners, type Source } from "../../charts/source";

export type FeedState = "queued" | "starting" | "live" | "elsewhere" | "ended";

interface SamplesEvent {
  from_ms: number;
  to_ms: number;
  series: { measure: string; of: string; t_ms: number[]; value: number[] }[];
}

export class Feed implements Source {
  readonly #series = new Map<string, Growing>();
  /** Goodput of single cells; the chart shows means of them. */
  readonly #cells = new Map<string, Growing>();

  /** Goodput is a mean over this time, because data that waited behind a lost packet is delivered all at once. */
  constructor(readonly meanOverS = 0) {}

  readonly #listeners = new Listeners();
  /** The time up to which all samples have arrived. */
  frontS = 0;
  /** The progress of the current attempt: behind `frontS` while it repeats an earlier attempt. */
  reachedS = 0;
  /** The attempt that repeats known samples; null if none does. */
  repeating: number | null = null;
  state: FeedState = "queued";

  readonly onMore = this.#listeners.add;

  samples(measure: string, of: string): Samples {
    return this.#series.get(keyOf(measure, of))?.samples ?? NOTHING;
  }

  /** Takes an event; returns whether it was the last. */
  receive({ event, data }: ServerEvent): boolean {
    if (event === "samples") this.#append(JSON.parse(data) as SamplesEvent);
    else if (event === "begin") this.#beginAgain((JSON.parse(data) as { from_ms: number }).from_ms);
    else if (event === "repeating") this.#repeat(JSON.parse(data) as { attempt: number; reached_ms: number });
    else if (event === "state") this.#setState(stateOf((JSON.parse(data) as { state: string }).state));
    else if (event === "end") this.state = "ended";
    this.#listeners.call();
    return event === "end";
  }

  #append({ to_ms, series }: SamplesEvent): void {
    for (const { measure, of, t_ms, value } of series) {
      const key = keyOf(measure, of);
      const growing = this.#series.get(key) ?? new Growing();
      this.#series.set(key, growing);
      const t = t_ms.map((ms) => ms / 1000);
      growing.append(t, measure === "goodput" ? this.#means(key, t, value) : value);
    }
    this.frontS = this.reachedS = to_ms / 1000;
    this.repeating = null;
  }

  #means(key: string, t: readonly number[], value: readonly number[]): number[] {
    const cells = this.#cells.get(key) ?? new Growing();
    this.#cells.set(key, cells);
    cells.append(t, value);
    return t.map((time) => meanAt(cells.samples, time, this.meanOverS));
  }

  #repeat({ attempt, reached_ms }: { attempt: number; reached_ms: number }): void {
    this.repeating = attempt;
    this.reachedS = reached_ms / 1000;
  }

  #setState(state: FeedState): void {
    this.state = state;
    // It waits for another attempt, which has not begun.
    if (state === "queued" || state === "starting") this.reachedS = 0;
  }

  #beginAgain(fromMs: number): void {
    for (const growing of [...this.#series.values(), ...this.#cells.values()]) growing.cut(fromMs / 1000);
    this.frontS = fromMs / 1000;
    this.reachedS = Math.min(this.reachedS, this.frontS);
  }
}

function stateOf(word: string): FeedState {
  return word === "queued" || word === "starting" || word === "live" || word === "elsewhere" ? word : "ended";
}
