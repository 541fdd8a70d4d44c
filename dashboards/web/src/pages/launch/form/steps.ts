/** Values between two values for a sweep: by doubling if they are far apart, otherwise in even steps. */
const QUANTITY = /^\s*([0-9]+(?:\.[0-9]+)?)\s*([^\s0-9].*)?$/;
const MOST = 12;

/** "10 ms" to "80 ms": 10, 20, 40, 80 ms; null if there is nothing between, or the units differ. */
export function steps(first: string, last: string): string[] | null {
  const [low, high] = [QUANTITY.exec(first), QUANTITY.exec(last)];
  const unit = low?.[2]?.trim() ?? "";
  if (!low || !high || unit !== (high[2]?.trim() ?? "")) return null;
  const [from, to] = [Number(low[1]), Number(high[1])];
  if (!(to > from) || from < 0) return null;
  const values = from > 0 && to / from >= 4 ? doubled(from, to) : even(from, to);
  return values.length > 2 ? values.map((value) => (unit === "" ? String(value) : `${value} ${unit}`)) : null;
}

function doubled(from: number, to: number): number[] {
  const factor = [2, 4, 10, 100].find((one) => Math.log(to / from) / Math.log(one) < MOST - 1) ?? 1000;
  const values = [];
  for (let value = from; value < to * 0.999; value *= factor) values.push(round(value));
  return [...values, to];
}

function even(from: number, to: number): number[] {
  const count = 5;
  return Array.from({ length: count }, (_, place) => round(from + ((to - from) * place) / (count - 1)));
}

function round(value: number): number {
  return Number(value.toPrecision(6));
}
