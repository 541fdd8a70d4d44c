/** A choice of one option among a few that are all visible. */
import { useId } from "react";
import styles from "./Segments.module.css";

interface Props<T extends string> {
  label: string;
  choices: readonly (readonly [value: T, name: string])[];
  value: T;
  onChange: (value: T) => void;
}

export function Segments<T extends string>({ label, choices, value, onChange }: Props<T>) {
  const group = useId();
  return (
    <fieldset className={styles.segments}>
      <legend className="unseen">{label}</legend>
      {choices.map(([one, name]) => (
        <label key={one} className={styles.segment}>
          <input type="radio" className="unseen" name={group} checked={one === value} onChange={() => onChange(one)} />
          {name}
        </label>
      ))}
    </fieldset>
  );
}
