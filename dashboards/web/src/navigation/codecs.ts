/** Codecs for the values of a view in an address; an invalid value becomes the default. */
import { decode, encode, splitOnce } from "./hash";

/** Reads and writes one key; `write` returns null for the default. */
export interface Codec<T> {
  read: (written: string | undefined) => T;
  write: (value: T) => string | null;
}

type Keys = Record<string, Codec<unknown>>;
// biome-ignore lint/suspicious/noExplicitAny: each codec has its own type
export type ViewOf<K extends Record<string, Codec<any>>> = { [N in keyof K]: ReturnType<K[N]["read"]> };

export function text(initial = ""): Codec<string> {
  return {
    read: (written) => (written === undefined ? initial : decodeWord(written)),
    write: (value) => (value === initial ? null : encode(value)),
  };
}

/** One of some words. */
export function oneOf<const T extends string>(words: readonly T[], initial: T): Codec<T> {
  return {
    read: (written) => words.find((word) => word === decodeWord(written ?? "")) ?? initial,
    write: (value) => (value === initial ? null : encode(value)),
  };
}

/** One of some choices with names. */
export function among<const T extends string>(choices: readonly (readonly [T, string])[], initial: T): Codec<T> {
  return oneOf(
    choices.map(([word]) => word),
    initial,
  );
}

export function flag(initial = false): Codec<boolean> {
  return {
    read: (written) => (written === undefined ? initial : written === "1"),
    write: (value) => (value === initial ? null : value ? "1" : "0"),
  };
}

/** Words in an order; none by default. */
export function list(): Codec<readonly string[]> {
  return {
    read: (written) => (written ? written.split(",").map(decodeWord) : []),
    write: (value) => (value.length > 0 ? value.map(encode).join(",") : null),
  };
}

/** A position in a list, from 0 on. */
export function place(): Codec<number> {
  return {
    read: (written) => (/^\d{1,9}$/.test(written ?? "") ? Number(written) : 0),
    write: (value) => (value === 0 ? null : String(value)),
  };
}

/** From and to, both or neither. */
export function range(): Codec<readonly [number, number] | null> {
  return {
    read: (written) => {
      const [from, to, ...more] = (written ?? "").split("~").map(Number);
      if (from === undefined || to === undefined || more.length > 0 || !(from < to)) return null;
      return Number.isFinite(to - from) ? [from, to] : null;
    },
    write: (value) => value && `${value[0]}~${value[1]}`,
  };
}

// biome-ignore lint/suspicious/noExplicitAny: each codec has its own type
export function readView<K extends Record<string, Codec<any>>>(keys: K, query: string): ViewOf<K> {
  const written = pairsOf(query);
  return Object.fromEntries(
    Object.entries(keys as Keys).map(([name, codec]) => [name, codec.read(written.get(name))]),
  ) as ViewOf<K>;
}

/** The query after a change; keys of other views stay. Also for `linkTo(path, writeView(KEYS, {...}))`. */
// biome-ignore lint/suspicious/noExplicitAny: each codec has its own type
export function writeView<K extends Record<string, Codec<any>>>(
  keys: K,
  change: Partial<ViewOf<K>>,
  query = "",
): string {
  const written = pairsOf(query);
  for (const [name, value] of Object.entries(change)) {
    const text = value === undefined ? null : (keys[name]?.write(value) ?? null);
    if (text === null) written.delete(name);
    else written.set(name, text);
  }
  return [...written].map(([name, value]) => `${name}=${value}`).join("&");
}

function pairsOf(query: string): Map<string, string> {
  return new Map(
    query
      .split("&")
      .filter(Boolean)
      .map((pair) => splitOnce(pair, "=")),
  );
}

function decodeWord(written: string): string {
  return decode(written.replaceAll("+", " "));
}
