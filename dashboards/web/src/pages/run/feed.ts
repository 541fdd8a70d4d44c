/**
 * What is told of a run while it goes on (GET /runs/{id}/live). Samples are those of whole cells of time, in order, each once: after a
 * break the stream goes on where it was, and `begin` says from when, so that a gap or a double cannot be.
 */
import type { ServerEvent } from "../../api/sse";
import { Growing, NOTHING, type Samples } from "../../charts/samples";
import { keyOf, Listeners, type Source } from "../../charts/source";

export type FeedState = "queued" | "starting" | "live" | "elsewhere" | "ended";

interface Told {
  from_ms: number;
  to_ms: number;
  series: { measure: string; of: string; t_ms: number[]; value: number[] }[];
}

export class Feed implements Source {
  readonly #series = new Map<string, Growing>();
  readonly #listeners = new Listeners();
  /** Up to when everything has been told. */
  frontS = 0;
  state: FeedState = "queued";

  readonly onMore = this.#listeners.add;

  samples(measure: string, of: string): Samples {
    return this.#series.get(keyOf(measure, of))?.samples ?? NOTHING;
  }

  /** Whether it was the last. */
  hear({ event, data }: ServerEvent): boolean {
    if (event === "samples") this.#take(JSON.parse(data) as Told);
    else if (event === "begin") this.#beginAgain((JSON.parse(data) as { from_ms: number }).from_ms);
    else if (event === "state") this.state = stateOf((JSON.parse(data) as { state: string }).state);
    else if (event === "end") this.state = "ended";
    this.#listeners.call();
    return event === "end";
  }

  #take({ to_ms, series }: Told): void {
    for (const { measure, of, t_ms, value } of series) {
      const key = keyOf(measure, of);
      const growing = this.#series.get(key) ?? new Growing();
      this.#series.set(key, growing);
      growing.append(
        t_ms.map((ms) => ms / 1000),
        value,
      );
    }
    this.frontS = to_ms / 1000;
  }

  #beginAgain(fromMs: number): void {
    for (const growing of this.#series.values()) growing.cut(fromMs / 1000);
    this.frontS = fromMs / 1000;
  }
}

function stateOf(word: string): FeedState {
  return word === "queued" || word === "starting" || word === "live" || word === "elsewhere" ? word : "ended";
}
