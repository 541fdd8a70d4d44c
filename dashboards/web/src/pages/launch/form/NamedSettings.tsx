/** Settings that single links or hosts have of their own, by name, and a way to add one. */
import type { ReactNode } from "react";
import { mistakeAt } from "../problems";
import { type Value, valueAt } from "../yamlText";
import { AddField } from "./AddField";
import { entriesOf, useEdit, write } from "./edit";
import styles from "./Form.module.css";
import { MistakeNote } from "./MistakeText";

interface Props {
  /** The field of the experiment that has them. */
  field: string;
  title: string;
  adding: string;
  /** The names that may have settings. */
  known: string[];
  /** The first settings of a name. */
  first: Record<string, Value>;
  each: (name: string, settings: Value) => ReactNode;
}

export function NamedSettings({ field, title, adding, known, first, each }: Props) {
  const { data, schema, mistakes } = useEdit();
  const named = entriesOf(valueAt(data, [field]));
  const whole = mistakeAt(mistakes, [field]);
  return (
    <details className={styles.more} open={named.length > 0 || undefined}>
      <summary>
        {title}
        {named.length > 0 ? ` (${named.length} set)` : ""}
      </summary>
      <MistakeNote mistake={whole} />
      {named.map(([name, settings]) => each(name, settings))}
      <AddField
        label={adding}
        prompt={`${adding} …`}
        free={known.filter((name) => !named.some(([one]) => one === name))}
        disabled={data === null}
        onAdd={(name) => write([field, name], first, schema)}
      />
    </details>
  );
}
