/** A heat map as an SVG file, and as CSV. */
import { type Form, quoted, saveAs } from "../../charts/exporting";
import { escaped } from "../../charts/figure";
import { measureValue } from "../../data/measures";
import { colourAt, type Heat, notesOn, type PointNote, shareOf, shortValue } from "./heat";

export interface MapOptions {
  heat: Heat;
  x: string;
  y: string;
  measure: string;
  title: string;
  /** Notes on the points of the sweep: their cells are hatched. */
  notes: readonly PointNote[];
}

const [CELL, LINE, LEFT, TOP] = [86, 30, 150, 64];

export function saveMap(form: Form, name: string, map: MapOptions): Promise<void> {
  return saveAs(form, name, { svg: () => mapSvg(map), csv: () => mapCsv(map) });
}

/** One row per run: the mean of a cell is the mean of its rows. */
export function mapCsv({ heat, x, y, measure }: MapOptions): string {
  const rows = [[x, ...(y ? [y] : []), "run", "seed", measure].map(quoted).join(",")];
  for (const { runs } of heat.cells.flat()) {
    for (const { point, run, seed, value } of runs) {
      rows.push(
        [point[x] ?? "", ...(y ? [point[y] ?? ""] : []), run, String(seed), value === null ? "" : String(value)]
          .map(quoted)
          .join(","),
      );
    }
  }
  return `${rows.join("\n")}\n`;
}

export function mapSvg({ heat, x, y, measure, title, notes }: MapOptions): string {
  const [width, height] = [LEFT + heat.columns.length * CELL + 20, TOP + heat.rows.length * LINE + 40];
  const label = (left: number, top: number, text: string, anchor: string, colour = "#4a5158"): string =>
    `<text x="${left}" y="${top}" text-anchor="${anchor}" fill="${colour}">${escaped(text)}</text>`;
  const cells = heat.cells.flatMap((row, down) =>
    row.map((cell, across) => {
      const { value } = cell;
      const [left, top] = [LEFT + across * CELL, TOP + down * LINE];
      const { ground, text: colour } =
        value === null ? { ground: "#f1f2f2", text: "#646b73" } : colourAt(shareOf(heat, value));
      const text = measureValue(measure, value, heat.greatest);
      const box = `x="${left + 1}" y="${top + 1}" width="${CELL - 2}" height="${LINE - 2}" rx="2"`;
      const isNoted = notesOn(cell, notes).length > 0;
      const hatch = isNoted ? `<rect ${box} fill="url(#noted)"/>` : "";
      return `<rect ${box} fill="${ground}"/>${hatch}${label(left + CELL / 2, top + LINE / 2 + 4, text, "middle", colour)}`;
    }),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" font-family="Helvetica, Arial, DejaVu Sans, sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<pattern id="noted" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0v6" stroke="#858c93"/></pattern>`,
    label(16, 24, title, "start", "#16191c"),
    ...(cells.some((cell) => cell.includes("url(#noted)"))
      ? [
          `<rect x="${LEFT}" y="${height - 26}" width="24" height="14" fill="url(#noted)"/>`,
          label(LEFT + 32, height - 14, "with notes", "start"),
        ]
      : []),
    label(LEFT - 8, TOP - 10, y ? `${y} \\ ${x}` : x, "end"),
    ...heat.columns.map((column, at) => label(LEFT + (at + 0.5) * CELL, TOP - 10, shortValue(column), "middle")),
    ...heat.rows.map((row, at) => label(LEFT - 8, TOP + (at + 0.5) * LINE + 4, shortValue(row), "end")),
    ...cells,
    "</svg>",
  ].join("\n");
}
