/** An empty state: what this place will show, and the action that fills it. */
import type { ReactNode } from "react";
import styles from "./Empty.module.css";

interface Props {
  title: string;
  /** Whether there is nothing else on the page, so that the title is its heading. */
  isPage?: boolean;
  children: ReactNode;
  action?: ReactNode;
}

export function Empty({ title, isPage = false, children, action }: Props) {
  return (
    <div className={styles.empty}>
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      <div className={styles.about}>{children}</div>
      {action}
    </div>
  );
}
