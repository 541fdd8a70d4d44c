/** The latest choices, kept in this browser. */
import { BASE } from "../api/address";
import { keep, readValue } from "../kept";
import type { Choice } from "./choices";

// A service below another prefix is another lab.
const KEY = `longhaul.recent${BASE}`;
const MOST = 5;

type Kept = Pick<Choice, "key" | "name" | "note" | "link">;

/** The latest first. Actions of views that are not shown are left out. */
export function recentChoices(actions: readonly Choice[]): Choice[] {
  return kept().flatMap((one): Choice[] => {
    if (one.link !== undefined) return [one];
    return actions.filter((action) => action.key === one.key);
  });
}

export function keepChoice({ key, name, note, link }: Choice): void {
  const others = kept().filter((one) => one.key !== key);
  keep(KEY, JSON.stringify([{ key, name, note, link }, ...others].slice(0, MOST)));
}

function kept(): Kept[] {
  const found = readValue(KEY);
  return Array.isArray(found) ? found.filter(isKept) : [];
}

function isKept(one: unknown): one is Kept {
  if (typeof one !== "object" || one === null) return false;
  const { key, name, note, link } = one as Record<string, unknown>;
  const texts = [key, name, note].every((text) => typeof text === "string");
  return texts && (link === undefined || (typeof link === "string" && link.startsWith("#/")));
}
