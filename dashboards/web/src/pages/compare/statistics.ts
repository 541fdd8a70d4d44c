/** Statistics of several numbers. */

/** The mean of the known values; null without any. */
export function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** The standard deviation of the known values, as of a sample; null with fewer than two. */
export function deviation(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  const middle = mean(known);
  if (middle === null || known.length < 2) return null;
  return Math.sqrt(known.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (known.length - 1));
}

/** (sum x)² / (n sum x²): 1 for equal shares, 1/n if one flow has all. */
export function jain(values: readonly number[]): number {
  const squares = values.reduce((sum, value) => sum + value * value, 0);
  const sum = values.reduce((all, value) => all + value, 0);
  return squares > 0 ? (sum * sum) / (values.length * squares) : 1;
}
