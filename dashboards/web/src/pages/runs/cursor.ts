/** The cursor of a list: j and k move it, Enter opens its row, x selects it. Its row is marked and stays in sight. */
import { useState } from "react";
import { useShortcut } from "../../navigation/shortcuts";

interface Rows {
  total: number;
  /** The id of the row at a place; undefined before it is loaded, and if it cannot be selected. */
  idAt: (index: number) => string | undefined;
  open: (index: number) => void;
  onPick: (id: string) => void;
  onPickAll: () => void;
  /** Bring the row at a place into sight. */
  show: (index: number) => void;
}

/** The place of the cursor's row; null before a key was pressed. */
export function useCursor({ total, idAt, open, onPick, onPickAll, show }: Rows): number | null {
  const [at, setAt] = useState<number | null>(null);
  const place = at === null || total === 0 ? null : Math.min(at, total - 1);
  const id = place === null ? undefined : idAt(place);
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(total - 1, (place ?? -1) + by));
    setAt(next);
    show(next);
  };
  useShortcut("j", "Next row", () => move(1), { group: "List" });
  useShortcut("k", "Previous row", () => move(place === null ? 1 : -1), { group: "List" });
  useShortcut("x", "Select the row", () => id !== undefined && onPick(id), { group: "List" });
  useShortcut("a", "Select all that match, or none", onPickAll, { group: "List" });
  useShortcut("Enter", "Open the row", () => place !== null && open(place), { group: "List", enabled: place !== null });
  return place;
}
