/** The time window that charts share, and the pointer in it. All charts draw in the same frame, at most once per frame, without
 * React, so that a pan costs only its drawing.
 *
 *     show(window) --> drawn in the next frame --> settled a moment later: address, finer data
 */
import type { Window } from "./samples";

const SETTLE_MS = 160;
/** The shortest window: there is nothing to see below. */
const LEAST_S = 1e-5;

type Listener = () => void;

export class Span {
  #whole: Window;
  #shown: Window | null = null;
  #grown: Window | null = null;
  /** As a share of the window: when the window changes, the pointer stays in place and is at another time. */
  #cursor: number | null = null;
  readonly #draws = new Set<Listener>();
  readonly #settled = new Set<Listener>();
  readonly #pointed = new Set<Listener>();
  readonly #due = new Set<Listener>();
  #frame = 0;
  #timer = 0;
  #moving = false;

  constructor(whole: Window) {
    this.#whole = whole;
  }

  get whole(): Window {
    return this.#whole;
  }

  get shown(): Window {
    return this.#shown ?? this.#grown ?? this.#whole;
  }

  /** The chosen window; null if everything is shown. */
  get zoom(): Window | null {
    return this.#shown;
  }

  /** The time under the pointer. */
  get cursor(): number | null {
    const [from, to] = this.shown;
    return this.#cursor === null ? null : from + this.#cursor * (to - from);
  }

  /** The pointer as a share of the window. */
  get share(): number | null {
    return this.#cursor;
  }

  /** Whether the window is changing right now. */
  get moving(): boolean {
    return this.#moving;
  }

  /** Samples have arrived up to `front`: shows the smallest half, quarter, eighth ... of the whole that contains them. Null: all
   * have arrived.
   */
  grow(front: number | null): void {
    const [first, last] = this.#whole;
    let end = last;
    while (front !== null && front < first + (end - first) / 2 && end - first > (last - first) / 1024)
      end = first + (end - first) / 2;
    if (end === (this.#grown?.[1] ?? last)) return;
    this.#grown = end === last ? null : [first, end];
    this.drawAll();
  }

  /** Shows a window; null shows everything. */
  show(window: Window | null): void {
    this.#shown = window === null ? null : this.#fitted(window);
    this.drawAll();
    globalThis.clearTimeout(this.#timer);
    this.#moving = true;
    this.#timer = globalThis.setTimeout(() => {
      this.#moving = false;
      this.drawAll();
      for (const listener of this.#settled) listener();
    }, SETTLE_MS) as unknown as number;
  }

  /** Zooms in (a factor below 1) or out; the given time stays in place. */
  scale(factor: number, at?: number): void {
    const [from, to] = this.shown;
    const fixed = at ?? (from + to) / 2;
    this.show([fixed - (fixed - from) * factor, fixed + (to - fixed) * factor]);
  }

  /** Pans by a share of the window. */
  move(share: number): void {
    const [from, to] = this.shown;
    const [first, last] = this.#whole;
    const by = Math.max(first - from, Math.min(last - to, share * (to - from)));
    if (by !== 0) this.show([from + by, to + by]);
  }

  /** Sets the pointer as a share of the window; null: no pointer. */
  point(share: number | null): void {
    if (share === this.#cursor) return;
    this.#cursor = share;
    for (const listener of this.#pointed) this.request(listener);
  }

  drawAll(): void {
    for (const draw of this.#draws) this.request(draw);
  }

  /** Calls a listener in the next frame, once. */
  request(listener: Listener): void {
    this.#due.add(listener);
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      const due = [...this.#due];
      this.#due.clear();
      for (const one of due) one();
    });
  }

  onDraw(draw: Listener): () => void {
    this.#draws.add(draw);
    return () => {
      this.#draws.delete(draw);
      this.#due.delete(draw);
    };
  }

  onPoint(listener: Listener): () => void {
    this.#pointed.add(listener);
    return () => {
      this.#pointed.delete(listener);
      this.#due.delete(listener);
    };
  }

  onSettled(listener: Listener): () => void {
    this.#settled.add(listener);
    return () => this.#settled.delete(listener);
  }

  #fitted([from, to]: Window): Window | null {
    const [first, last] = this.#whole;
    const length = Math.max(LEAST_S, Math.min(last - first, to - from));
    const begin = Math.max(first, Math.min(last - length, from));
    return length >= (last - first) * 0.9999 ? null : [begin, begin + length];
  }
}
