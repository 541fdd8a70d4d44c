/** A section of a page with a heading and, at the right, its actions. */
import { type ReactNode, useId } from "react";
import styles from "./Panel.module.css";

interface Props {
  title: string;
  actions?: ReactNode;
  /** Without a frame, for content that has one. */
  bare?: boolean;
  children: ReactNode;
}

export function Panel({ title, actions, bare = false, children }: Props) {
  const heading = useId();
  return (
    <section aria-labelledby={heading} className={bare ? styles.bare : styles.panel}>
      <header className={styles.head}>
        <h2 id={heading}>{title}</h2>
        <div className={styles.actions}>{actions}</div>
      </header>
      {children}
    </section>
  );
}
