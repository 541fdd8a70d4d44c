/** Groups sentences that differ only in their numbers. */

export interface Kind {
  first: string;
  /** The number of other sentences of this kind. */
  more: number;
}

/** A number with its sign, fraction, exponent and unit. */
const NUMBER = /[-+]?\d[\d.,]*(e[-+]?\d+)?( ?(%|µs|ms|s|[kMGT]?bit\/s|[kKMGT]?B|BDP|packets?))?/g;

/** The kinds, in the order of their first sentence. */
export function kindsOf(sentences: readonly string[]): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const sentence of sentences) {
    const pattern = sentence.replace(NUMBER, "#");
    const known = kinds.get(pattern);
    if (known === undefined) kinds.set(pattern, { first: sentence, more: 0 });
    else known.more++;
  }
  return [...kinds.values()];
}
