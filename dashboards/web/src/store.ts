/** A value outside the tree of components, with listeners for its changes. */
import { useSyncExternalStore } from "react";

export class Store<T> {
  readonly #listeners = new Set<() => void>();
  #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  readonly get = (): T => this.#value;

  readonly set = (value: T): void => {
    if (Object.is(value, this.#value)) return;
    this.#value = value;
    for (const listener of this.#listeners) listener();
  };

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };
}

export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get);
}

/** One function that ends several subscriptions. */
export function endAll(...ends: readonly ((() => unknown) | undefined)[]): () => void {
  return () => {
    for (const end of ends) end?.();
  };
}
