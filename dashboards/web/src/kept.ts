/** What this browser keeps for the page: a text for each key. One that keeps nothing forgets it with the page. */

export function readKept(key: string): string | null {
  try {
    return window.localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** A kept value; null without a readable one. */
export function readValue(key: string): unknown {
  try {
    return JSON.parse(readKept(key) ?? "null");
  } catch {
    return null;
  }
}

export function keep(key: string, text: string): void {
  try {
    window.localStorage.setItem(key, text);
  } catch {
    // It is full, or forbidden.
  }
}
