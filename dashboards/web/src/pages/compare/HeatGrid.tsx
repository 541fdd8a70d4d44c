/** The grid of a heat map: a button with a number for each cell, and a scale. */

import { measureValue } from "../../data/measures";
import { spellNumber } from "../../units";
import styles from "./HeatGrid.module.css";
import { colourAt, notesOn, shareOf, shortValue } from "./heat";
import type { MapOptions } from "./mapFile";

interface Props extends MapOptions {
  /** "column|row" */
  chosen: string;
  onChoose: (key: string) => void;
}

const SCALE = Array.from({ length: 24 }, (_, at) => at / 23);

export function HeatGrid({ heat, x, y, measure, title, chosen, notes, onChoose }: Props) {
  const write = (value: number | null): string => measureValue(measure, value, heat.greatest);
  const repeated = heat.cells.flat().some(({ deviation }) => deviation !== null);
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
                      aria-label={`${shortValue(row)} ${shortValue(column)}: ${write(value)}${cell?.deviation == null ? "" : `, standard deviation ${write(cell.deviation)} of ${cell.runs.length} runs`}${about.length > 0 ? ", with notes" : ""}`}
                      style={colour === null ? {} : { backgroundColor: colour.ground, color: colour.text }}
                      onClick={() => onChoose(key)}
                    >
                      {write(value)}
                      {repeated && cell !== undefined && (
                        <small>
                          {cell.deviation === null ? "" : `± ${write(cell.deviation)}, `}n {cell.runs.length}
                        </small>
                      )}
                    </button>
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
      <p className={styles.scale}>
        <span>{write(heat.least)}</span>
        <span className={styles.ramp} aria-hidden="true">
          {SCALE.map((share) => (
            <i key={share} style={{ background: colourAt(share).ground }} />
          ))}
        </span>
        <span>{write(heat.greatest)}</span>
        {repeated && <span>mean ± standard deviation of n runs</span>}
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
