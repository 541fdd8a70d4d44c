/** A section with a list of entries: its title, the button that adds one, and the errors of the whole list. */
import type { ReactNode } from "react";
import { mistakeAt } from "../problems";
import { valueAt } from "../yamlText";
import { useEdit } from "./edit";
import styles from "./Form.module.css";
import { MistakeNote } from "./MistakeText";

interface Props {
  /** The field of the experiment that has the list. */
  field: string;
  title: string;
  adding: ReactNode;
  children: ReactNode;
}

export function ListSection({ field, title, adding, children }: Props) {
  const { data, mistakes } = useEdit();
  // A list of points has no fields here that show the errors in it.
  const below = field === "sweep" && Array.isArray(valueAt(data, [field]));
  const id = `form-${field}`;
  return (
    <section className={styles.section} aria-labelledby={id}>
      <div className={styles.heading}>
        <h2 id={id}>{title}</h2>
        {adding}
      </div>
      <MistakeNote mistake={mistakeAt(mistakes, [field], { below })} />
      {children}
    </section>
  );
}
