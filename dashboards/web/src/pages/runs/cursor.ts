/** The cursor of a list: j and k move it, Enter opens its row, x selects it. Its row is marked and stays in sight. */
import { useEffect, useState } from "react";
import { go } from "../../navigation/route";
import { useShortcut } from "../../navigation/shortcuts";

interface Rows {
  ids: readonly string[];
  linkOf: (id: string) => string;
  onPick: (id: string) => void;
  onPickAll: () => void;
  onNoneLeft: () => void;
}

/** The id of the cursor's row; null before a key was pressed. */
export function useCursor({ ids, linkOf, onPick, onPickAll, onNoneLeft }: Rows): string | null {
  const [at, setAt] = useState<string | null>(null);
  const place = at === null ? -1 : ids.indexOf(at);
  const move = (by: number): void => {
    const next = ids[Math.max(0, Math.min(ids.length - 1, place + by))];
    setAt(next ?? null);
    if (place + by >= ids.length - 1) onNoneLeft();
  };
  useShortcut("j", "Next row", () => move(1), { group: "List" });
  useShortcut("k", "Previous row", () => move(place < 0 ? 1 : -1), { group: "List" });
  useShortcut("x", "Select the row", () => at !== null && onPick(at), { group: "List" });
  useShortcut("a", "Select all that match, or none", onPickAll, { group: "List" });
  useShortcut("Enter", "Open the row", () => at !== null && go(linkOf(at)), { group: "List", enabled: at !== null });
  useEffect(() => {
    if (at !== null) document.getElementById(rowId(at))?.scrollIntoView({ block: "nearest" });
  }, [at]);
  return place < 0 ? null : at;
}

export function rowId(id: string): string {
  return `row-${id}`;
}
