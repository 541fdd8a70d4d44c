/** The choice of a series, and of the flow that it is of. */
import { type Measure, QUANTITIES } from "../../charts/quantities";
import { LabelledSelect } from "../../parts/Select";
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
      <LabelledSelect
        label="Series"
        value={series}
        choices={SERIES.map((one) => [one, QUANTITIES[one].name] as const)}
        onChange={(one) => onChange({ series: one })}
      />
      {OF_FLOWS.includes(series) && flows.length > 1 && (
        <LabelledSelect label="Flow" value={flow} choices={flows} onChange={(one) => onChange({ flow: one })} />
      )}
    </>
  );
}
