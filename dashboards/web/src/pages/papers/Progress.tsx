/** The progress of a figure's runs, and the buttons that start them. */
import { useMay } from "../../api/session";
import { type Extent, type Figure, useReproduce } from "../../data/reproductions";
import { Button } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { ProgressBar } from "../../parts/ProgressBar";
import { count, wait } from "../../units";
import styles from "./Papers.module.css";

const TEXTS: Record<Extent, string> = { quick: "Run quick form", full: "Run full form" };

/** `brief`: one button, for a card. */
export function Runner({ figure, brief = false }: { figure: Figure; brief?: boolean }) {
  const may = useMay("run");
  const reproduce = useReproduce(figure.paper, figure.figure);
  const same = figure.quick.runs === figure.full.runs;
  const extents: readonly Extent[] = same ? ["full"] : brief ? ["quick"] : ["quick", "full"];
  const offered = extents.filter((extent) => !figure[extent].complete && figure[extent].live === 0);
  if (!may) return null;
  return (
    <>
      {offered.map((extent) => (
        <Button
          key={extent}
          kind={brief ? "plain" : extent === offered[0] ? "primary" : "plain"}
          busy={reproduce.isPending && reproduce.variables === extent}
          onClick={() => reproduce.mutate(extent)}
          title={estimate(figure, extent)}
        >
          {brief || same ? "Run" : TEXTS[extent]}
          {!brief && <span className={styles.cost}>{estimate(figure, extent)}</span>}
        </Button>
      ))}
      {reproduce.isError && <ErrorNote error={reproduce.error} />}
    </>
  );
}

export function Progress({ figure }: { figure: Figure }) {
  const now: Extent =
    figure.quick.live > 0 && !figure.full.complete && figure.full.live <= figure.quick.live ? "quick" : "full";
  const { runs, kept, live, failed } = figure[figure.full.live > 0 ? now : figure.extent];
  if (live === 0) return null;
  return (
    <div className={styles.progress} role="status">
      <ProgressBar value={kept + failed} max={runs} label="Runs that have ended" />
      {count(kept + failed)} of {count(runs)} runs
    </div>
  );
}

/** "4 runs, about 38 s": the service's estimate for one processor. */
export function estimate(figure: Figure, extent: Extent): string {
  const { runs, kept, wall_estimate_s } = figure[extent];
  const left = runs - kept;
  const some = `${count(left)} ${left === 1 ? "run" : "runs"}`;
  if (wall_estimate_s === null || runs === 0) return some;
  return `${some}, about ${wait(Math.max(1, Math.round((wall_estimate_s * left) / runs)))}`;
}
