/** The grid of a heat map: a button with a number for each cell, and a scale. */

import { measureValue } from "../../data/measures";
import styles from "./HeatGrid.module.css";
import { colourAt, type Heat, shareOf, shortValue } from "./heat";

interface Props {
  heat: Heat;
  x: string;
  y: string;
  measure: string;
  title: string;
  /** "column|row" */
  chosen: string;
  onChoose: (key: string) => void;
}

const SCALE = Array.from({ length: 24 }, (_, at) => at / 23);

export function HeatGrid({ heat, x, y, measure, title, chosen, onChoose }: Props) {
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
              <th key={column} scope="col" title={column}>
                {shortValue(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {heat.rows.map((row, down) => (
            <tr key={row}>
              <th scope="row" title={row}>
                {shortValue(row)}
              </th>
              {heat.columns.map((column, across) => {
                const cell = heat.cells[down]?.[across];
                const value = cell?.value ?? null;
                const key = `${column}|${row}`;
                const colour = value === null ? null : colourAt(shareOf(heat, value));
                return (
                  <td key={column}>
                    <button
                      type="button"
                      className={styles.cell}
                      aria-pressed={key === chosen}
                      disabled={(cell?.runs.length ?? 0) === 0}
                      aria-label={`${shortValue(row)} ${shortValue(column)}: ${measureValue(measure, value)}`}
                      style={colour === null ? {} : { background: colour.ground, color: colour.text }}
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
      </p>
    </div>
  );
}
