/** What several numbers come to together. */

/** Of those that are known; null where none is. */
export function mean(values: readonly (number | null)[]): number | null {
  const known = values.filter((value): value is number => value !== null);
  return known.length === 0 ? null : known.reduce((sum, value) => sum + value, 0) / known.length;
}

/** (sum x)² / (n sum x²): 1 for equals, 1/n when one has all. */
export function jain(values: readonly number[]): number {
  const squares = values.reduce((sum, value) => sum + value * value, 0);
  const sum = values.reduce((all, value) => all + value, 0);
  return squares > 0 ? (sum * sum) / (values.length * squares) : 1;
}
