/** Groups sentences that differ only in their numbers. */

/** Sentences of one kind, in their order. */
export type Kind<S> = readonly [first: S, ...others: S[]];

/** A number with its sign, fraction, exponent and unit. */
const NUMBER = /[-+]?\d[\d.,]*(e[-+]?\d+)?( ?(%|µs|ms|s|[kMGT]?bit\/s|[kKMGT]?B|BDP|packets?))?/g;

/** The kinds, in the order of their first sentence. */
export function kindsOf<S>(sentences: readonly S[], textOf: (sentence: S) => string): Kind<S>[] {
  const kinds = new Map<string, [S, ...S[]]>();
  for (const sentence of sentences) {
    const pattern = textOf(sentence).replace(NUMBER, "#");
    const known = kinds.get(pattern);
    if (known === undefined) kinds.set(pattern, [sentence]);
    else known.push(sentence);
  }
  return [...kinds.values()];
}
