/** Lines with the same values would cover each other. Where their bands meet, stripes of each are drawn on top in turn:
 *
 *     three lines alone   =====        together   aaabbbcccaaabbbccc
 */

/** The lowest and highest pixel of a line in each column; NaN in a column without values. */
export interface Band {
  low: Float32Array;
  high: Float32Array;
}

/** Columns in which a line is drawn on top, from `first` to before `end`. */
export type Stripe = readonly [first: number, end: number];

/** Lines closer than this, in pixels, look like one. */
const APART = 1.5;

/** The band of a line: `xs` in columns, never decreasing, `ys` in pixels. Between values it is the straight line. */
export function bandOf(xs: ArrayLike<number>, ys: ArrayLike<number>, columns: number): Band {
  const [low, high] = [new Float32Array(columns).fill(Number.NaN), new Float32Array(columns).fill(Number.NaN)];
  const put = (column: number, y: number): void => {
    if (column < 0 || column >= columns) return;
    if (!((low[column] ?? 0) <= y)) low[column] = y;
    if (!((high[column] ?? 0) >= y)) high[column] = y;
  };
  for (let at = 0; at < xs.length; at++) {
    const [x, y] = [xs[at] ?? 0, ys[at] ?? 0];
    put(Math.floor(x), y);
    const [next, then] = [xs[at + 1], ys[at + 1]];
    if (next === undefined || then === undefined) continue;
    const last = Math.min(columns - 1, Math.floor(next) - 1);
    for (let column = Math.max(0, Math.floor(x) + 1); column <= last; column++) {
      put(column, y + ((then - y) * (column + 0.5 - x)) / (next - x));
    }
  }
  return { low, high };
}

/** For each line, the columns in which it is on top of others that it meets. `wide`: the columns of a stripe. */
export function stripesOf(bands: readonly Band[], wide: number): Stripe[][] {
  const found: [number, number][][] = bands.map(() => []);
  const columns = bands[0]?.low.length ?? 0;
  const top = (line: number, column: number): void => {
    const mine = found[line];
    const last = mine?.at(-1);
    if (last?.[1] === column) last[1] = column + 1;
    else mine?.push([column, column + 1]);
  };
  for (let column = 0; column < columns; column++) {
    const met = [...bands.keys()].filter((line) => !Number.isNaN(bands[line]?.low[column]));
    met.sort((a, b) => (bands[a]?.low[column] ?? 0) - (bands[b]?.low[column] ?? 0));
    let [group, reach]: [number[], number] = [[], Number.NEGATIVE_INFINITY];
    const close = (): void => {
      if (group.length < 2) return;
      group.sort((a, b) => a - b);
      const turn = group[Math.floor(column / wide) % group.length];
      if (turn !== undefined) top(turn, column);
    };
    for (const line of met) {
      if ((bands[line]?.low[column] ?? 0) > reach + APART) {
        close();
        group = [];
        reach = Number.NEGATIVE_INFINITY;
      }
      group.push(line);
      reach = Math.max(reach, bands[line]?.high[column] ?? 0);
    }
    close();
  }
  return found;
}
