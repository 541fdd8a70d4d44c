/** Where the lines of a run come from: what is kept of it, or what is told while it goes on. */
import type { Samples, Window } from "./samples";

export interface Source {
  /** What is known of a series in a window, as fine as is known; more outside of it does no harm. */
  samples: (measure: string, of: string, window: Window) => Samples;
  /** Calls back whenever there is more, or finer. */
  onMore: (listener: () => void) => () => void;
}

export function keyOf(measure: string, of: string): string {
  return `${measure}\n${of}`;
}

export class Listeners {
  readonly #all = new Set<() => void>();

  readonly add = (listener: () => void): (() => void) => {
    this.#all.add(listener);
    return () => this.#all.delete(listener);
  };

  call(): void {
    for (const listener of this.#all) listener();
  }
}
