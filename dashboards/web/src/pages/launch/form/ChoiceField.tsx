/** A choice with its label above, for what is no field of the experiment or has values of its own. */
import { type ComponentProps, type ReactNode, useId } from "react";
import { Select } from "../../../parts/Select";
import styles from "./Form.module.css";

interface Props<T extends string> extends ComponentProps<typeof Select<T>> {
  label: string;
  /** Shown below it. */
  note?: ReactNode;
}

export function ChoiceField<T extends string>({ label, note, ...select }: Props<T>) {
  const id = useId();
  return (
    <div className={styles.field}>
      <label htmlFor={id}>{label}</label>
      <Select id={id} className={styles.control} {...select} />
      {note}
    </div>
  );
}
