/** The grid of a heat map: a button with a number for each cell, and a scale. */

import { measureValue } from "../../data/measures";
import { spellNumber } from "../../units";
import styles from "./HeatGrid.module.css";
import { colourAt, type Heat, notesOn, type PointNote, shareOf, shortValue } from "./heat";

interface Props {
  heat: Heat;
  x: string;
  y: string;
  measure: string;
  title: string;
  /** "column|row" */
  chosen: string;
  /** Notes on the points of the sweep: their cells are hatched. */
  notes: readonly PointNote[];
  onChoose: (key: string) => void;
}

const SCALE = Array.from({ length: 24 }, (_, at) => at / 23);

export function HeatGrid({ heat, x, y, measure, title, chosen, notes, onChoose }: Props) {
  const noted = heat.cells.map((row) => row.map((cell) => notesOn(cell, notes)));
  return (
    <div className={styles.frame}>
      <table className={styles.heat} aria-label={`${title} by ${x}${y && ` and ${y}`}`}>
        <thead>
          <tr>
            <td className={styles.corner}>
              {y && <>{y.replace(/^(flows|path)\./, "")} ↓ </>}
              {x.replace(/^(flows|path)\./, "")} →
            </td>
            {heat.columns.map((column) => (
              <th key={column} scope="col" title={spellNumber(column)}>
                {shortValue(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {heat.rows.map((row, down) => (
            <tr key={row}>
              <th scope="row" title={spellNumber(row)}>
                {shortValue(row)}
              </th>
              {heat.columns.map((column, across) => {
                const cell = heat.cells[down]?.[across];
                const value = cell?.value ?? null;
                const key = `${column}|${row}`;
                const about = noted[down]?.[across] ?? [];
                const colour = value === null ? null : colourAt(shareOf(heat, value));
                return (
                  <td key={column}>
                    <button
                      type="button"
                      className={about.length > 0 ? `${styles.cell} ${styles.noted}` : styles.cell}
                      title={about.join("\n")}
                      aria-pressed={key === chosen}
                      disabled={(cell?.runs.length ?? 0) === 0}
                      aria-label={`${shortValue(row)} ${shortValue(column)}: ${measureValue(measure, value)}${about.length > 0 ? ", with notes" : ""}`}
                      style={colour === null ? {} : { backgroundColor: colour.ground, color: colour.text }}
                      onClick={() => onChoose(key)}
                    >
                      {value === null ? "–" : measureValue(measure, value)}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p className={styles.scale}>
        <span>{measureValue(measure, heat.least)}</span>
        <span className={styles.ramp} aria-hidden="true">
          {SCALE.map((share) => (
            <i key={share} style={{ background: colourAt(share).ground }} />
          ))}
        </span>
        <span>{measureValue(measure, heat.greatest)}</span>
        {noted.flat().some((about) => about.length > 0) && (
          <>
            <span className={`${styles.swatch} ${styles.noted}`} aria-hidden="true" />
            <span>with notes: press a cell to read them</span>
          </>
        )}
      </p>
    </div>
  );
}
