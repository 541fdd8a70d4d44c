/** One run: its charts while it goes on and after, what it came to, and what can be done with it. */
import { queries } from "../../api/queries";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { isOver } from "./document";
import { RunFacts } from "./RunFacts";
import { RunHead } from "./RunHead";
import styles from "./RunPage.module.css";
import { RunWatch } from "./RunWatch";
import { useChanges, useOutline, useRun } from "./runQueries";

export function RunPage({ id }: { id: string }) {
  const run = useRun(id);
  const outline = useOutline(id);
  useChanges("run", id, run.data === undefined || isOver(run.data.status));
  const again = (): void => {
    for (const key of ["run", "outline"]) void queries.invalidateQueries({ queryKey: [key, id] });
  };
  if (run.error) return <ErrorNote error={run.error} />;
  if (run.data === undefined || outline.isPending) return <Waiting label="Opening the run" height="70vh" />;
  return (
    <div className={styles.page}>
      <RunHead run={run.data} outline={outline.data ?? null} />
      {outline.error && <ErrorNote error={outline.error} />}
      {outline.data && <RunWatch run={run.data} outline={outline.data} onEnd={again} />}
      <RunFacts run={run.data} />
    </div>
  );
}
