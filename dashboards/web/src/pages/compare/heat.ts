/** A sweep as a grid of cells: which point lies where, what its runs have on the mean, and which colour that is. */
import { contrast } from "../../theme/colourMath";
import { mean } from "./statistics";

export interface RunValue {
  run: string;
  point: Record<string, string>;
  seed: number;
  status: string;
  value: number | null;
}

export interface Cell {
  value: number | null;
  runs: readonly RunValue[];
}

export interface Heat {
  columns: readonly string[];
  rows: readonly string[];
  cells: readonly (readonly Cell[])[];
  least: number;
  greatest: number;
}

/** In the order in which the sweep has them; `y` may be missing. What else is swept is averaged. */
export function heatOf(values: readonly RunValue[], x: string, y: string): Heat {
  const columns = [...new Set(values.map(({ point }) => point[x] ?? ""))];
  const rows = y === "" ? [""] : [...new Set(values.map(({ point }) => point[y] ?? ""))];
  const cells = rows.map((row) =>
    columns.map((column): Cell => {
      const runs = values.filter(({ point }) => (point[x] ?? "") === column && (y === "" || (point[y] ?? "") === row));
      return { runs, value: mean(runs.map((one) => one.value)) };
    }),
  );
  const known = cells.flat().flatMap(({ value }) => (value === null ? [] : [value]));
  return { columns, rows, cells, least: Math.min(...known), greatest: Math.max(...known) };
}

// After cividis: the same for every kind of colour vision, and in grey.
const STOPS: readonly (readonly [number, number, number])[] = [
  [0, 32, 77],
  [49, 68, 107],
  [102, 105, 112],
  [149, 144, 119],
  [203, 186, 105],
  [255, 234, 70],
];

export function colourAt(share: number): { ground: string; text: string } {
  const at = Math.max(0, Math.min(1, share)) * (STOPS.length - 1);
  const low = Math.min(STOPS.length - 2, Math.floor(at));
  const [from, to] = [STOPS[low] ?? [0, 0, 0], STOPS[low + 1] ?? [0, 0, 0]];
  const mixed = from.map((one, place) => Math.round(one + ((to[place] ?? 0) - one) * (at - low)));
  return { ground: `rgb(${mixed.join(" ")})`, text: legible(mixed) };
}

/** White or black, whichever is read more easily on it. */
function legible(colour: readonly number[]): string {
  const ground = `#${colour.map((part) => part.toString(16).padStart(2, "0")).join("")}`;
  return contrast(ground, "#ffffff") >= contrast(ground, "#000000") ? "#ffffff" : "#000000";
}

export function shareOf(heat: Heat, value: number): number {
  return heat.greatest > heat.least ? (value - heat.least) / (heat.greatest - heat.least) : 0.5;
}

/** What a swept value is called in a head: of a whole flow or path, what tells it from the others. */
export function shortValue(value: string): string {
  const cc = /(?:^|[{ ,"])"?cc"?: *"?([a-z0-9_]+)/.exec(value)?.[1];
  return cc ?? value;
}
