/** A section with a list of entries: its title, the button that adds one, and the errors of the whole list. */
import type { ReactNode } from "react";
import type { Mistake } from "../problems";
import styles from "./Form.module.css";
import { MistakeText } from "./MistakeText";

interface Props {
  id: string;
  title: string;
  adding: ReactNode;
  whole: Mistake | undefined;
  children: ReactNode;
}

export function ListSection({ id, title, adding, whole, children }: Props) {
  return (
    <section className={styles.section} aria-labelledby={id}>
      <div className={styles.heading}>
        <h2 id={id}>{title}</h2>
        {adding}
      </div>
      {whole && (
        <p className={styles.mistake}>
          <MistakeText mistake={whole} />
        </p>
      )}
      {children}
    </section>
  );
}
