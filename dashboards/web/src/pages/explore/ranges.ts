/** The ranges on axes, as the address has them: "path.rtt~0.25~1", in shares of the axis; and the order of axes. */

export type Ranges = ReadonlyMap<string, readonly [low: number, high: number]>;

export function readRanges(words: readonly string[]): Ranges {
  const found = new Map<string, readonly [number, number]>();
  for (const word of words) {
    const [key = "", low = "", high = ""] = word.split("~");
    const range = [Number.parseFloat(low), Number.parseFloat(high)] as const;
    if (key !== "" && range[0] <= range[1]) found.set(key, range);
  }
  return found;
}

export function writeRanges(ranges: Ranges): string[] {
  return [...ranges].map(([key, [low, high]]) => `${key}~${Number(low.toFixed(4))}~${Number(high.toFixed(4))}`);
}

/** A list with one item at another place. */
export function moved<T>(items: readonly T[], from: number, to: number): T[] {
  const rest = items.filter((_, at) => at !== from);
  const item = items[from];
  if (item === undefined) return rest;
  return [...rest.slice(0, to), item, ...rest.slice(to)];
}

/** Different values in order. */
export function placesOf(values: readonly number[]): number[] {
  return [...new Set(values)].sort((a, b) => a - b);
}
