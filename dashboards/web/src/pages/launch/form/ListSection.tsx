/** A part of the experiment that has any number of the same: its name, what adds one more, what is wrong with all of it, and each. */
import type { ReactNode } from "react";
import type { Mistake } from "../problems";
import styles from "./Form.module.css";

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
      {whole && <p className={styles.mistake}>{whole.message}</p>}
      {children}
    </section>
  );
}
