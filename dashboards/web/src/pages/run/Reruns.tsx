/** The results of a run's reruns, next to its charts. */
import { useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { isLive } from "../../data/runList";
import { linkTo } from "../../navigation/route";
import { Badge, type Tone } from "../../parts/Badge";
import { ago } from "../../units";
import styles from "./RunPage.module.css";

const MOST = 3;
const POLL_MS = 700;

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
  const found = useQuery({
    queryKey: ["reruns", run],
    queryFn: () =>
      answered(api.GET("/api/v1/runs", { params: { query: { text: `rerun=${run}`, limit: MOST, sort: "newest" } } })),
    refetchInterval: (query) => (query.state.data?.items.some(isLive) ? POLL_MS : false),
  });
  const rows = found.data?.items ?? [];
  if (rows.length === 0) return null;
  return (
    <ul className={styles.reruns} aria-label="Reruns">
      {rows.map((row) => {
        const [tone, text] = TEXTS[row.status];
        return (
          <li key={row.id} role="status">
            <Badge tone={tone}>rerun</Badge>{" "}
            <a href={linkTo(["runs", row.id])}>{ago(row.finished_at ?? row.created_at)}</a>, {text}
          </li>
        );
      })}
    </ul>
  );
}
