/** Words of the glossary (docs/glossary.md) with their meanings, for help beside a field or a number. */
import glossary from "./glossary.json";

export interface Term {
  word: string;
  meaning: string;
}

const MEANINGS: Readonly<Record<string, string>> = glossary;
const WORDS = new Map(Object.keys(MEANINGS).map((word) => [word.toLowerCase(), word]));
// Words of a description that are explained beside it: readers may not know them, and they have one meaning.
const NAMED = [
  "BDP",
  "drop-tail",
  "ECN",
  "HyStart",
  "Jain's index",
  "L4S",
  "MTU",
  "RTO",
  "RTT",
  "SACK",
  "slow start",
  "ssthresh",
];
// Names of fields, values and numbers that the glossary has under another word.
const MEANT: Readonly<Record<string, readonly string[]>> = {
  buffer: ["buffer", "BDP"],
  cc: ["congestion control"],
  droptail: ["drop-tail"],
  hystart: ["HyStart", "slow start"],
  initial_window: ["slow start"],
  jain: ["Jain's index"],
  queue: ["queue", "drop-tail"],
  recovery: ["RTO"],
  warmup: ["warmup", "slow start"],
};

/** The terms of a name, such as the key of a field, of its value, and those that a text about it uses; each once. */
export function termsOf(name: string, text = "", value = ""): Term[] {
  const plain = name.replaceAll("_", " ").toLowerCase();
  const words = [
    ...(MEANT[name] ?? [WORDS.get(plain) ?? WORDS.get(plain.replace(/s$/, "")) ?? ""]),
    ...(MEANT[value] ?? []),
    ...NAMED.filter((word) => new RegExp(`\\b${word}\\b`, "i").test(text)),
  ];
  return [...new Set(words)].flatMap((word) => {
    const meaning = MEANINGS[word];
    return meaning ? [{ word, meaning }] : [];
  });
}
