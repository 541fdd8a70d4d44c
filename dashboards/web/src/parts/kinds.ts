/** Sentences that differ in their numbers alone are of one kind. */

export interface Kind {
  first: string;
  /** How many others there are of it. */
  more: number;
}

/** A number with what may belong to it: a sign, a fraction, an exponent, a unit. */
const NUMBER = /[-+]?\d[\d.,]*(e[-+]?\d+)?( ?(%|µs|ms|s|[kMGT]?bit\/s|[kKMGT]?B|BDP|packets?))?/g;

/** By kinds, in the order in which they come. */
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
