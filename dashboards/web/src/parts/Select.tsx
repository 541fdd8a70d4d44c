/** A choice of one among several values: the browser's own select. */
import type { SelectHTMLAttributes } from "react";

type Choosable = string | number;
/** Values, each with its name unless it is one. */
export type Choices<T extends Choosable> = readonly (T | readonly [value: T, name: string])[];

interface Props<T extends Choosable> extends Omit<SelectHTMLAttributes<HTMLSelectElement>, "value" | "onChange"> {
  choices: Choices<T>;
  value: T;
  onChange: (value: T) => void;
}

export function Select<T extends Choosable>({ choices, onChange, ...more }: Props<T>) {
  const named = choices.map((one) => (typeof one === "object" ? one : ([one, String(one)] as const)));
  return (
    <select
      {...more}
      onChange={({ target }) => {
        const chosen = named.find(([value]) => String(value) === target.value);
        if (chosen !== undefined) onChange(chosen[0]);
      }}
    >
      {named.map(([value, name]) => (
        <option key={value} value={value}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface LabelledProps<T extends Choosable> extends Props<T> {
  label: string;
  /** The class of the label, which has the select in it. */
  look?: string | undefined;
}

/** With its label in front. */
export function LabelledSelect<T extends Choosable>({ label, look, ...select }: LabelledProps<T>) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the select is in it
    <label className={look}>
      {label} <Select {...select} />
    </label>
  );
}
