/** Finds rows by words. */

/** The rows with every word in their text; rows whose name begins with the words come first, then those with a word in their name. */
export function matching<T>(
  rows: readonly T[],
  sought: string,
  of: (row: T) => { name: string; text: string },
): readonly T[] {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const whole = words.join(" ");
  const rank = (row: T): number => {
    const name = of(row).name.toLowerCase();
    if (name.startsWith(whole)) return 0;
    return words.every((word) => name.includes(word)) ? 1 : 2;
  };
  return rows
    .filter((row) => {
      const { name, text } = of(row);
      const all = `${name} ${text}`.toLowerCase();
      return words.every((word) => all.includes(word));
    })
    .toSorted((a, b) => rank(a) - rank(b));
}
