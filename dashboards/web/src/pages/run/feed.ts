/**
 * What is told of a run while it goes on (GET /runs/{id}/live). Samples are those of whole cells of time, in order, each once: after a
 * break the stream goes on where it was, and `begin` says from when, so that a gap or a double cannot be.
 */
import type { ServerEvent } from "../../api/sse";
import { Growing, meanAt, NOTHING, type Samples } from "../../charts/samples";
import { keyOf, Listeners, type Source } from "../../charts/source";

export type FeedState = "queued" | "starting" | "live" | "elsewhere" | "ended";

interface Told {
  from_ms: number;
  to_ms: number;
  series: { measure: string; of: string; t_ms: number[]; value: number[] }[];
}

export class Feed implements Source {
  readonly #series = new Map<string, Growing>();
  /** Goodput of single cells, of which means are drawn. */
  readonly #cells = new Map<string, Growing>();

  /** Goodput is drawn over so long a time: what waits behind a lost packet is delivered all at once. */
  constructor(readonly meanOverS = 0) {}

  readonly #listeners = new Listeners();
  /** Up to when everything has been told. */
  frontS = 0;
  /** How far the attempt is that is being made: less than what was told, where it repeats an earlier one. */
  reachedS = 0;
  /** Which attempt repeats what was told; null where none does. */
  repeating: number | null = null;
  state: FeedState = "queued";

  readonly onMore = this.#listeners.add;

  samples(measure: string, of: string): Samples {
    return this.#series.get(keyOf(measure, of))?.samples ?? NOTHING;
  }

  /** Whether it was the last. */
  hear({ event, data }: ServerEvent): boolean {
    if (event === "samples") this.#take(JSON.parse(data) as Told);
    else if (event === "begin") this.#beginAgain((JSON.parse(data) as { from_ms: number }).from_ms);
    else if (event === "repeating") this.#repeat(JSON.parse(data) as { attempt: number; reached_ms: number });
    else if (event === "state") this.#stand(stateOf((JSON.parse(data) as { state: string }).state));
    else if (event === "end") this.state = "ended";
    this.#listeners.call();
    return event === "end";
  }

  #take({ to_ms, series }: Told): void {
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

  #stand(state: FeedState): void {
    this.state = state;
    // It waits for another attempt: nothing of that is made yet.
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
