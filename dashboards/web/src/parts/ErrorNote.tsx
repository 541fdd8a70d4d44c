/** An error with the service's own text: the attempt, the cause, and the remedy. */
import type { ReactNode } from "react";
import { connection } from "../api/connection";
import { problemOf } from "../api/problem";
import { useStore } from "../store";
import styles from "./ErrorNote.module.css";

export function ErrorNote({ error, action }: { error: unknown; action?: ReactNode }) {
  const away = useStore(connection) === "away";
  const problem = problemOf(error);
  // The header reports that the service is away, so here is only what it means for the action, until the service is back.
  if (problem.status === 0) {
    return away ? <p className="soft">Not sent. Try again when the service is back.</p> : (action ?? null);
  }
  const lines = problem.problems.length > 0 ? problem.problems : [problem.sentence].filter(Boolean);
  return (
    <div role="alert" className={styles.note}>
      <strong>{problem.title}</strong>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
      {problem.remedy && <p className="soft">{problem.remedy}</p>}
      {problem.requestId && problem.status >= 500 && <p className={styles.id}>request {problem.requestId}</p>}
      {action}
    </div>
  );
}
