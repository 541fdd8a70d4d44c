/** The source of a run's lines: its kept trace, or its live stream. */
import type { Samples, Window } from "./samples";

export interface Source {
  /** The known samples of a series in a window, as fine as available; samples outside of it are allowed. */
  samples: (measure: string, of: string, window: Window) => Samples;
  /** Subscribes to more or finer samples. */
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
