/** A choice among the measures of the runs. */
import { nameOf, type Sweep, wordOf } from "./sweep";

interface Props {
  label: string;
  value: string;
  measures: Sweep["measures"];
  /** Swept fields that can be chosen too. */
  fields?: readonly string[];
  onChange: (word: string) => void;
}

export function MeasureSelect({ label, value, measures, fields = [], onChange }: Props) {
  return (
    <label>
      {label}{" "}
      <select value={value} onChange={(event) => onChange(event.target.value)}>
        {value === "" && <option value="">choose</option>}
        {fields.length > 0 && (
          <optgroup label="Swept fields">
            {fields.map((field) => (
              <option key={field}>{field}</option>
            ))}
          </optgroup>
        )}
        <optgroup label="Measures">
          {measures.map((one) => (
            <option key={wordOf(one)} value={wordOf(one)}>
              {nameOf(wordOf(one))}
            </option>
          ))}
        </optgroup>
      </select>
    </label>
  );
}
