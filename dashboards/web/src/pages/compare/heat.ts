/** A sweep as a grid of cells: the point of each cell, the mean over its runs, and its colour. */
import type { Schemas } from "../../api/client";
import { spellNumber } from "../../units";
import { deviation, mean } from "./statistics";

export type RunValue = Schemas["RunValue"];

export interface Cell {
  /** The mean of its runs, and their standard deviation. */
  value: number | null;
  deviation: number | null;
  runs: readonly RunValue[];
}

export interface Heat {
  columns: readonly string[];
  rows: readonly string[];
  cells: readonly (readonly Cell[])[];
  least: number;
  greatest: number;
  /** Whether colours follow the logarithm. */
  isLog: boolean;
}

/** What notes are about: a sentence, and points of the sweep. */
export interface PointNote {
  text: string;
  points: readonly Readonly<Record<string, string>>[];
}

/** The notes on the points of a cell, each once. */
export function notesOn({ runs }: Cell, notes: readonly PointNote[]): string[] {
  const points = new Set(runs.map(({ point }) => keyOf(point)));
  return notes.filter((note) => note.points.some((point) => points.has(keyOf(point)))).map(({ text }) => text);
}

const keyOf = (point: Readonly<Record<string, string>>): string => JSON.stringify(Object.entries(point).sort());

/** Columns and rows in the order of the sweep; `y` may be empty. Cells are means over the other swept fields. */
export function heatOf(values: readonly RunValue[], x: string, y: string, isLog = false): Heat {
  const columns = [...new Set(values.map(({ point }) => point[x] ?? ""))];
  const rows = y === "" ? [""] : [...new Set(values.map(({ point }) => point[y] ?? ""))];
  const cells = rows.map((row) =>
    columns.map((column): Cell => {
      const runs = values.filter(({ point }) => (point[x] ?? "") === column && (y === "" || (point[y] ?? "") === row));
      const known = runs.map((one) => one.value);
      return { runs, value: mean(known), deviation: deviation(known) };
    }),
  );
  const known = cells.flat().flatMap(({ value }) => (value === null ? [] : [value]));
  const [least, greatest] = [Math.min(...known), Math.max(...known)];
  return { columns, rows, cells, least, greatest, isLog: isLog && least > 0 };
}

export { cellColour as colourAt } from "../../theme/ramp";

/** The place of a value between the least and the greatest, 0 to 1. */
export function shareOf({ least, greatest, isLog }: Heat, value: number): number {
  if (greatest <= least) return 0.5;
  return isLog ? Math.log(value / least) / Math.log(greatest / least) : (value - least) / (greatest - least);
}

/** A swept value as a heading: of a whole flow, only its congestion control. */
export function shortValue(value: string): string {
  const cc = /(?:^|[{ ,"])"?cc"?: *"?([a-z0-9_]+)/.exec(value)?.[1];
  return cc ?? spellNumber(value);
}
