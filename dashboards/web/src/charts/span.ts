/**
 * The time that some charts show together, and where the pointer is in it. Charts draw at most once a frame, all of them in the
 * same one; nothing here goes through React, so that a pan costs what its drawing costs.
 *
 *     show(window) --> drawn in the next frame --> settled a moment later: address, finer data
 */
import type { Window } from "./samples";

const SETTLE_MS = 160;
/** Not less than a few microseconds: there is nothing to be seen. */
const LEAST_S = 1e-5;

type Listener = () => void;

export class Span {
  #whole: Window;
  #shown: Window | null = null;
  #grown: Window | null = null;
  /** As a share of what is shown: the pointer stays where it is when that changes, and is then at another time. */
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

  /** The chosen window; null where all is shown. */
  get zoom(): Window | null {
    return this.#shown;
  }

  /** The time under the pointer. */
  get cursor(): number | null {
    const [from, to] = this.shown;
    return this.#cursor === null ? null : from + this.#cursor * (to - from);
  }

  /** Whether the window changes right now: what is drawn is gone in a moment. */
  get moving(): boolean {
    return this.#moving;
  }

  /**
   * So much is known by now: all is shown of a half, a quarter, an eighth ... of the whole, the least that holds it. Null: the whole
   * is known.
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

  /** The window is this one; null shows all. */
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

  /** Closer (a factor below 1) or wider, what is at this time staying where it is. */
  scale(factor: number, at?: number): void {
    const [from, to] = this.shown;
    const fixed = at ?? (from + to) / 2;
    this.show([fixed - (fixed - from) * factor, fixed + (to - fixed) * factor]);
  }

  /** Along time, by a share of what is shown. */
  move(share: number): void {
    const [from, to] = this.shown;
    const [first, last] = this.#whole;
    const by = Math.max(first - from, Math.min(last - to, share * (to - from)));
    if (by !== 0) this.show([from + by, to + by]);
  }

  /** The pointer is at this share of what is shown; null: it is nowhere. */
  point(share: number | null): void {
    if (share === this.#cursor) return;
    this.#cursor = share;
    for (const listener of this.#pointed) this.request(listener);
  }

  drawAll(): void {
    for (const draw of this.#draws) this.request(draw);
  }

  /** Call it in the next frame, once. */
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
