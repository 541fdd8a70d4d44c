/** The draft of an experiment: stored in the browser until it is launched, and shared by a link that contains it. */
import { NO_WORDS, type Words } from "../../annotations/annotation";
import { BASE } from "../../api/address";
import type { Backend } from "../../data/runList";
import { keep, readValue } from "../../kept";
import { Store, useStore } from "../../store";

export interface Draft {
  text: string;
  backend: Backend;
  where: "guest" | "host" | null;
  clock: "virtual" | "real" | null;
  /** From and to, or a host for each node, as in a1=hk. */
  hosts: readonly string[];
  /** From -10 to 10; runs of a higher priority start first. */
  priority: number;
  words: Words;
}

export const FIRST: Draft = {
  text: `# Form and text show the same experiment: a change in one appears in the other.
experiment: my-experiment
path:
  bandwidth: 100 Mbit/s
  rtt: 40 ms
  buffer: 1 BDP
flows:
  - {name: cubic, cc: cubic}
duration: 30 s
warmup: 2 s
`,
  backend: "sandbox",
  where: null,
  clock: null,
  hosts: [],
  priority: 0,
  words: NO_WORDS,
};

// A service below another prefix is another lab.
const KEPT = `longhaul.draft${BASE}`;

export const draft = new Store<Draft>(read(readValue(KEPT)) ?? FIRST);
/** The draft before it was replaced. */
export const replaced = new Store<Draft | null>(null);

draft.subscribe(() => keep(KEPT, JSON.stringify(draft.get())));

export function useDraft(): Draft {
  return useStore(draft);
}

export function change(part: Partial<Draft>): void {
  draft.set({ ...draft.get(), ...part });
}

/** Replaces the draft, and keeps the previous one to restore. */
export function replaceDraft(next: Draft): void {
  const before = draft.get();
  if (before.text !== next.text) replaced.set(before.text === FIRST.text ? null : before);
  draft.set(next);
}

/** Parses a draft that may come from another user or an earlier version of the page. */
export function read(found: unknown): Draft | null {
  if (typeof found !== "object" || found === null) return null;
  const fields = found as Record<string, unknown>;
  if (typeof fields.text !== "string") return null;
  return {
    text: fields.text,
    // The service refuses an unknown backend and lists the known ones.
    backend: typeof fields.backend === "string" ? (fields.backend as Backend) : "sandbox",
    where: fields.where === "guest" || fields.where === "host" ? fields.where : null,
    clock: fields.clock === "virtual" || fields.clock === "real" ? fields.clock : null,
    hosts: Array.isArray(fields.hosts) ? fields.hosts.filter((name) => typeof name === "string") : [],
    priority: Number.isInteger(fields.priority) ? Math.max(-10, Math.min(10, Number(fields.priority))) : 0,
    words: wordsIn({ ...fields, ...(fields.words as object | undefined) }),
  };
}

/** Of a draft, or of an experiment as it was submitted. */
function wordsIn({ title, tags, comment }: Record<string, unknown>): Words {
  const write = (value: unknown): string => (typeof value === "string" ? value : "");
  const listed = Array.isArray(tags) ? tags.map(write).join(", ") : write(tags);
  return { title: write(title), tags: listed, comment: write(comment) };
}

/** A draft as a word of an address: deflated, in base64url. */
export async function packed(one: Draft): Promise<string> {
  const stream = new Blob([JSON.stringify(one)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** The draft in a word; null if it is none, or larger than an experiment may be. */
export async function unpacked(word: string): Promise<Draft | null> {
  try {
    const letters = atob(word.replaceAll("-", "+").replaceAll("_", "/"));
    const bytes = Uint8Array.from(letters, (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return read(JSON.parse(await textOf(stream)));
  } catch {
    return null;
  }
}

const MOST_BYTES = 1_000_000;

async function textOf(stream: ReadableStream<Uint8Array>): Promise<string> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > MOST_BYTES) throw new Error("too large");
  }
}
