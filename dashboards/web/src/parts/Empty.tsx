/** An empty state: what this place will show, and the action that fills it. */
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
