/** Keyboard shortcuts: `useShortcut("g r", "Go to runs", ...)`. `?` lists those that work now. */
import { useEffect } from "react";
import { useLatest } from "../hooks";
import { Store, useStore } from "../store";

export interface Shortcut {
  /** One key, or two pressed one after the other: `c`, `g r`, `Escape`, `mod+Enter` (Control, or Command on a Mac). */
  keys: string;
  /** Its description in the list. */
  about: string;
  group: string;
  act: () => void;
}

/** The name of the key that `mod` means here. */
export const MOD = /Mac/.test(window.navigator.userAgent) ? "⌘" : "Ctrl";

const SEQUENCE_MS = 1000;

const shortcuts = new Store<readonly Shortcut[]>([]);
let first = "";
let firstAt = 0;

export function useShortcuts(): readonly Shortcut[] {
  return useStore(shortcuts);
}

/** Registers a shortcut while the component is mounted. If two have the same keys, the later one wins. */
export function useShortcut(
  keys: string,
  about: string,
  act: () => void,
  { group = "This page", enabled = true }: { group?: string; enabled?: boolean } = {},
): void {
  const latest = useLatest(act);
  useEffect(() => {
    if (!enabled) return;
    const mine: Shortcut = { keys, about, group, act: () => latest.current() };
    shortcuts.set([...shortcuts.get(), mine]);
    return () => shortcuts.set(shortcuts.get().filter((one) => one !== mine));
  }, [keys, about, group, enabled, latest]);
}

/** The name of a pressed key as shortcuts spell it. */
export function spelled(event: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey">): string {
  return (event.ctrlKey || event.metaKey ? "mod+" : "") + (event.altKey ? "alt+" : "") + event.key;
}

/** The shortcut that a key completes, after the key before it. */
export function meant(all: readonly Shortcut[], before: string, key: string): Shortcut | undefined {
  return (
    all.findLast((one) => before !== "" && one.keys === `${before} ${key}`) ?? all.findLast((one) => one.keys === key)
  );
}

function pressed(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const key = spelled(event);
  // Text fields take letters; a dialog has its own keys.
  if (isWriting(event.target) && !key.startsWith("mod+")) return;
  if (document.querySelector("dialog[open]") !== null) return;
  const before = Date.now() - firstAt < SEQUENCE_MS ? first : "";
  const found = meant(shortcuts.get(), before, key);
  first = found === undefined ? key : "";
  firstAt = Date.now();
  if (found === undefined) return;
  event.preventDefault();
  found.act();
}

function isWriting(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

window.addEventListener("keydown", pressed);
