/** A damaged kept run: its damaged files, the consequences, and the repair. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useMay } from "../../api/session";
import { Button } from "../../parts/Button";
import { CopyButton } from "../../parts/CopyButton";
import { ErrorNote } from "../../parts/ErrorNote";
import { badFiles, repairOf, type Verification } from "./damage";
import { ChangeAndLaunch } from "./RunHead";
import styles from "./RunPage.module.css";

interface Props {
  /** The run that has the files. */
  run: string;
  /** Whether the page shows a rerun of that run. */
  isOriginal: boolean;
  experiment: string | undefined;
  verification: UseQueryResult<Verification, Error>;
  /** The service's message before all files are read. */
  known: string | null;
  onAgain: () => void;
}

const FAULTS = { damaged: "its content has changed", missing: "it is missing" } as Record<string, string>;

export function Damaged({ run, isOriginal, experiment, verification, known, onAgain }: Props) {
  const found = verification.data;
  const which = isOriginal ? `The original run ${run}` : "This run";
  if (found !== undefined && found.state !== "damaged") {
    return (
      <section aria-label="Damage" className={styles.repaired}>
        <h2>{which} was damaged and is intact again</h2>
        <Button onClick={onAgain}>Check again</Button>
      </section>
    );
  }
  const bad = found === undefined ? [] : badFiles(found);
  return (
    <section aria-label="Damage" className={styles.failure}>
      <h2>{which} is damaged</h2>
      {verification.isFetching && <p role="status">{known ?? "One of its files has changed"}. Checking all files …</p>}
      {bad.length > 0 && (
        <ul aria-label="Damaged files">
          {bad.map(([name, state]) => (
            <li key={name}>
              <code>{name}</code>: {FAULTS[state]}
            </li>
          ))}
        </ul>
      )}
      {verification.error && <ErrorNote error={verification.error} />}
      {bad.length > 0 && <Repair command={repairOf(run, bad)} experiment={experiment} />}
      <p className={styles.hint}>
        Its measures were recorded when the run was kept. Charts and downloads that need a damaged file are refused.
      </p>
      <Button onClick={onAgain}>Check again</Button>
    </section>
  );
}

function Repair({ command, experiment }: { command: string | null; experiment: string | undefined }) {
  const mayRun = useMay("run");
  if (command === null) {
    return (
      <>
        <p>
          The run cannot be repaired from its files, because its manifest is damaged. Launch its experiment again: that
          replaces the run, under the same id.
        </p>
        {mayRun && experiment !== undefined && <ChangeAndLaunch experiment={experiment} />}
      </>
    );
  }
  return (
    <>
      <p>
        On the machine of the service, this command simulates the run again with the same kernel, agent and modules. The
        run keeps its id and its pin.
      </p>
      <p className={styles.command}>
        <code>{command}</code> <CopyButton text={() => command}>Copy</CopyButton>
      </p>
    </>
  );
}
