/** The results of a run's reruns, next to its charts. */
import type { Schemas } from "../../api/client";
import { linkTo } from "../../navigation/route";
import { Badge, type Tone } from "../../parts/Badge";
import { ago } from "../../units";
import styles from "./RunPage.module.css";
import { useReruns } from "./runQueries";

type Row = Schemas["RunRow"];

const TEXTS: Record<Row["status"], readonly [tone: Tone, text: string]> = {
  queued: ["neutral", "is queued"],
  running: ["busy", "is running"],
  done: ["good", "identical: the traces are equal, byte for byte"],
  missed: ["bad", "differs: the traces are not equal"],
  failed: ["bad", "failed"],
  cancelled: ["neutral", "was cancelled"],
};

export function Reruns({ run }: { run: string }) {
  const rows = useReruns(run).data?.items ?? [];
  if (rows.length === 0) return null;
  return (
    <ul className={styles.reruns} aria-label="Reruns">
      {rows.map((row) => {
        const [tone, text] = TEXTS[row.status];
        return (
          <li key={row.id}>
            <span role="status">
              <Badge tone={tone}>rerun</Badge>{" "}
              <a href={linkTo(["runs", row.id])}>{ago(row.finished_at ?? row.created_at)}</a>, {text}
            </span>
          </li>
        );
      })}
    </ul>
  );
}
