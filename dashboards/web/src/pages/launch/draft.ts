/** What is being written: kept in the browser until it is launched, and carried by a link to whoever is to see it. */
import { BASE } from "../../api/address";
import type { Backend } from "../../data/runList";
import { Store, useStore } from "../../store";

export interface Draft {
  text: string;
  backend: Backend;
  where: "guest" | "host" | null;
  clock: "virtual" | "real" | null;
  /** From and to, or a host for each node, as in a1=hk. */
  hosts: readonly string[];
}

export const FIRST: Draft = {
  text: `# Form and text are one experiment: whatever is changed in one is changed in the other.
experiment: my-experiment
about: One flow on a long path.
path:
  bandwidth: 100 Mbit/s
  rtt: 40 ms
  buffer: 1 BDP
flows:
  - {name: one, cc: cubic}
duration: 30 s
warmup: 2 s
`,
  backend: "sandbox",
  where: null,
  clock: null,
  hosts: [],
};

// A service under another prefix is another lab.
const KEPT = `longhaul.draft${BASE}`;

export const draft = new Store<Draft>(kept());
/** What was there before something took its place as a whole. */
export const replaced = new Store<Draft | null>(null);

draft.subscribe(() => {
  try {
    window.localStorage.setItem(KEPT, JSON.stringify(draft.get()));
  } catch {
    // No room, or not allowed: the draft lives as long as the page.
  }
});

export function useDraft(): Draft {
  return useStore(draft);
}

export function change(part: Partial<Draft>): void {
  draft.set({ ...draft.get(), ...part });
}

/** Put another experiment in the place of the draft, which can be brought back. */
export function replaceDraft(next: Draft): void {
  const before = draft.get();
  if (before.text !== next.text) replaced.set(before.text === FIRST.text ? null : before);
  draft.set(next);
}

function kept(): Draft {
  try {
    return read(JSON.parse(window.localStorage.getItem(KEPT) ?? "null")) ?? FIRST;
  } catch {
    return FIRST;
  }
}

/** A draft that somebody else, or an earlier version of this page, wrote. */
export function read(found: unknown): Draft | null {
  if (typeof found !== "object" || found === null) return null;
  const said = found as Record<string, unknown>;
  if (typeof said.text !== "string") return null;
  return {
    text: said.text,
    // One that this service does not have it refuses, and says which it has.
    backend: typeof said.backend === "string" ? (said.backend as Backend) : "sandbox",
    where: said.where === "guest" || said.where === "host" ? said.where : null,
    clock: said.clock === "virtual" || said.clock === "real" ? said.clock : null,
    hosts: Array.isArray(said.hosts) ? said.hosts.filter((name) => typeof name === "string") : [],
  };
}

/** A draft as a word of an address: deflated, in letters that addresses may have. */
export async function packed(one: Draft): Promise<string> {
  const stream = new Blob([JSON.stringify(one)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const letters = btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
  return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/** Null where the word is no draft, or would be larger than any experiment may be. */
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
