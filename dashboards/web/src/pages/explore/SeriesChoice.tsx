/** The choice of a series, and of the flow that it is of. */
import { type Measure, QUANTITIES } from "../../charts/quantities";
import { OF_FLOWS, SERIES } from "./bandQueries";

interface Props {
  series: Measure;
  flow: string;
  flows: readonly string[];
  onChange: (change: { series?: Measure; flow?: string }) => void;
}

export function SeriesChoice({ series, flow, flows, onChange }: Props) {
  return (
    <>
      <label>
        Series{" "}
        <select value={series} onChange={(event) => onChange({ series: event.target.value as Measure })}>
          {SERIES.map((one) => (
            <option key={one} value={one}>
              {QUANTITIES[one].name}
            </option>
          ))}
        </select>
      </label>
      {OF_FLOWS.includes(series) && flows.length > 1 && (
        <label>
          Flow{" "}
          <select value={flow} onChange={(event) => onChange({ flow: event.target.value })}>
            {flows.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
      )}
    </>
  );
}
