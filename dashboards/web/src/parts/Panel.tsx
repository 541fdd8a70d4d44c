/** A part of a page with a heading of its own, and what can be done with it at the right. */
import { type ReactNode, useId } from "react";
import styles from "./Panel.module.css";

interface Props {
  title: string;
  actions?: ReactNode;
  /** Without a frame: for what is a frame already. */
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
