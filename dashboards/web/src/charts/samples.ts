/** Values over time; `t` never decreases. */

export interface Samples {
  readonly t: Float64Array;
  readonly v: Float64Array;
}

export type Window = readonly [from: number, to: number];

export const NOTHING: Samples = { t: new Float64Array(0), v: new Float64Array(0) };

/** The index of the first time at or after this one; the length if there is none. */
export function placeOf(t: ArrayLike<number>, time: number): number {
  let [low, high] = [0, t.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((t[middle] ?? 0) < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The samples of a window, with one neighbour on either side, so that lines reach its edges. Nothing is copied. */
export function within({ t, v }: Samples, [from, to]: Window): Samples {
  const first = Math.max(0, placeOf(t, from) - 1);
  const last = Math.min(t.length, placeOf(t, to) + 1);
  return { t: t.subarray(first, last), v: v.subarray(first, last) };
}

/** The last value at or before a time; null if there is none. */
export function valueAt({ t, v }: Samples, time: number): number | null {
  const place = placeOf(t, time);
  const at = t[place] === time ? place : place - 1;
  return at < 0 ? null : (v[at] ?? null);
}

/** The mean of the values in the `overS` seconds up to and including a time. */
export function meanAt({ t, v }: Samples, time: number, overS: number): number {
  let [sum, count] = [0, 0];
  for (let at = placeOf(t, time + 1e-9) - 1; at >= 0 && (count === 0 || (t[at] ?? 0) > time - overS + 1e-9); at--) {
    sum += v[at] ?? 0;
    count++;
  }
  return count > 0 ? sum / count : 0;
}

/** Minimum and maximum of the values; null without values. */
export function extentOf(all: Iterable<{ readonly v: Iterable<number> }>): readonly [number, number] | null {
  let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const { v } of all) {
    for (const value of v) {
      if (value < least) least = value;
      if (value > greatest) greatest = value;
    }
  }
  return least <= greatest ? [least, greatest] : null;
}

/** Samples that grow over time. */
export class Growing {
  #t = new Float64Array(256);
  #v = new Float64Array(256);
  #count = 0;

  get samples(): Samples {
    return { t: this.#t.subarray(0, this.#count), v: this.#v.subarray(0, this.#count) };
  }

  append(t: readonly number[], v: readonly number[]): void {
    const count = this.#count + t.length;
    if (count > this.#t.length) this.#grow(count);
    this.#t.set(t, this.#count);
    this.#v.set(v, this.#count);
    this.#count = count;
  }

  /** Drops the samples at that time and after it. */
  cut(time: number): void {
    this.#count = placeOf(this.#t.subarray(0, this.#count), time);
  }

  #grow(count: number): void {
    const size = Math.max(count, this.#t.length * 2);
    const [t, v] = [new Float64Array(size), new Float64Array(size)];
    t.set(this.#t);
    v.set(this.#v);
    [this.#t, this.#v] = [t, v];
  }
}
