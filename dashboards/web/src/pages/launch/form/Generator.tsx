/** Fills the values of a swept field: from, to, how many, in even steps or even ratios. */
import { useId, useState } from "react";
import { Button } from "../../../parts/Button";
import { Segments } from "../../../parts/Segments";
import type { Value } from "../yamlText";
import { ChoiceField } from "./ChoiceField";
import { textOf } from "./edit";
import styles from "./Form.module.css";
import { generated, objection, type Range, rangeBetween } from "./generator";

interface Props {
  field: string;
  values: readonly string[];
  units: readonly string[];
  whole: boolean;
  onFill: (values: readonly Value[]) => void;
}

/** The numbers as they are being typed. */
type Typed = { [part in keyof Range]: part extends "from" | "to" | "count" ? string : Range[part] };

export function Generator({ field, values, units, whole, onFill }: Props) {
  const id = useId();
  const [typed, setTyped] = useState<Typed>(() => {
    const { from, to, count, ...rest } = rangeBetween(values, units);
    return { from: textOf(from), to: textOf(to), count: String(count), ...rest };
  });
  const number = (text: string): number => (text.trim() === "" ? Number.NaN : Number(text));
  const range: Range = { ...typed, from: number(typed.from), to: number(typed.to), count: number(typed.count) };
  const filled = generated(range, whole);
  const part = (name: "from" | "to" | "count", label: string) => (
    <div className={styles.field}>
      <label htmlFor={`${id}-${name}`}>{label}</label>
      <input
        id={`${id}-${name}`}
        type="text"
        inputMode="decimal"
        autoComplete="off"
        className={styles.control}
        value={typed[name]}
        onChange={(event) => setTyped({ ...typed, [name]: event.target.value })}
      />
    </div>
  );
  return (
    <fieldset className={styles.generator}>
      <legend className="unseen">Values of {field}</legend>
      {part("from", "From")}
      {part("to", "To")}
      {units.length > 1 && (
        <ChoiceField
          label="Unit"
          value={typed.unit}
          choices={units.map((unit) => [unit, unit || "no unit"] as const)}
          onChange={(unit) => setTyped({ ...typed, unit })}
        />
      )}
      {part("count", "Values")}
      <Segments
        label="Steps"
        choices={[
          ["linear", "Linear"],
          ["log", "Log"],
        ]}
        value={typed.scale}
        onChange={(scale) => setTyped({ ...typed, scale })}
      />
      <p className={styles.generated} aria-live="polite">
        {objection(range) ?? filled.map(textOf).join(", ")}
      </p>
      <Button disabled={filled.length === 0} onClick={() => onFill(filled)}>
        Fill in {filled.length > 0 ? `${filled.length} values` : ""}
      </Button>
    </fieldset>
  );
}
