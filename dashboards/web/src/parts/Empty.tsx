/** Nothing is here yet: what would be, and how it comes to be. */
import type { ReactNode } from "react";
import styles from "./Empty.module.css";

export function Empty({ title, children, action }: { title: string; children: ReactNode; action?: ReactNode }) {
  return (
    <div className={styles.empty}>
      <h2>{title}</h2>
      <div className={styles.about}>{children}</div>
      {action}
    </div>
  );
}
