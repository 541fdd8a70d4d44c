/** An error with the service's own text: the attempt, the cause, and the remedy. */
import type { ReactNode } from "react";
import { problemOf } from "../api/problem";
import styles from "./ErrorNote.module.css";

export function ErrorNote({ error, action }: { error: unknown; action?: ReactNode }) {
  const problem = problemOf(error);
  const lines = problem.problems.length > 0 ? problem.problems : [problem.detail].filter(Boolean);
  return (
    <div role="alert" className={styles.note}>
      <strong>{problem.title}</strong>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {problem.hint && !problem.detail.includes(problem.hint) && <p className={styles.hint}>{problem.hint}</p>}
      {problem.requestId && problem.status >= 500 && <p className={styles.id}>request {problem.requestId}</p>}
      {action}
    </div>
  );
}
