/** One run: its charts while it is running and afterwards, its result and its actions. */
import { useCallback, useState } from "react";
import { readAgain } from "../../api/queries";
import { isOver, type Outline, pointText, type Run } from "../../data/runDocument";
import { useOwnTitle } from "../../navigation/title";
import { signOf } from "../../parts/Badge";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { Damaged } from "./Damaged";
import { isDamage, traceOf, useVerification } from "./damage";
import { Expectations } from "./Expectations";
import { isId, isMissing, Missing } from "./Missing";
import { RunFacts } from "./RunFacts";
import { RunHead } from "./RunHead";
import { RunWatch } from "./RunWatch";
import { useChanges, useOutline, useRun } from "./runQueries";

export function RunPage({ id }: { id: string }) {
  const run = useRun(id);
  const outline = useOutline(id);
  useChanges("run", id, run.data === undefined || isOver(run.data.status));
  if (!isId("run", id) || (run.error && isMissing(run.error))) return <Missing noun="run" id={id} />;
  if (run.error) return <ErrorNote error={run.error} />;
  if (run.data === undefined || outline.isPending) return <Waiting label="Opening the run" height="70vh" />;
  return <OneRun key={id} run={run.data} outline={outline.data ?? null} fault={outline.error} />;
}

interface Props {
  run: Run;
  outline: Outline | null;
  /** The error that left no outline. */
  fault: Error | null;
}

function OneRun({ run, outline, fault }: Props) {
  useOwnTitle(
    [`${signOf(run.status)} ${run.experiment}`, pointText(run.point), `seed ${run.seed}`].filter(Boolean).join(", "),
  );
  // Another check draws the charts again.
  const [checks, setChecks] = useState(0);
  const [noticed, setNoticed] = useState(false);
  const notice = useCallback(() => setNoticed(true), []);
  const trace = traceOf(run);
  // A partial trace is not a result, so it is not verified; the service's error contains the remedy.
  const suspected = !run.partial && (noticed || run.damage !== null || isDamage(fault));
  const verification = useVerification(trace, suspected);
  const damaged = verification.data === undefined ? suspected : verification.data.state === "damaged";
  const again = (): void => {
    for (const key of ["run", "outline"]) void readAgain([key, run.id]);
  };
  const checkAgain = (): void => {
    setNoticed(false);
    setChecks(checks + 1);
    void verification.refetch();
    again();
  };
  return (
    <div className="stack">
      <RunHead run={run} outline={outline} damaged={damaged} />
      {(damaged || suspected) && (
        <Damaged
          run={trace}
          isOriginal={trace !== run.id}
          experiment={run.experiments[0]}
          verification={verification}
          known={run.damage}
          onAgain={checkAgain}
        />
      )}
      {run.status === "missed" && <Expectations run={run} />}
      {fault && !(suspected && isDamage(fault)) && <ErrorNote error={fault} />}
      {outline && (
        <RunWatch key={checks} run={run} outline={outline} onEnd={again} onDamage={run.partial ? undefined : notice} />
      )}
      <RunFacts run={run} outline={outline} verification={verification} />
    </div>
  );
}
