/** A kept run that is damaged: which files are not what was kept, what that means, and how the run is made again. */
import type { UseQueryResult } from "@tanstack/react-query";
import { useMay } from "../../api/session";
import { Button } from "../../parts/Button";
import { CopyButton } from "../../parts/CopyButton";
import { ErrorNote } from "../../parts/ErrorNote";
import { badFiles, repairOf, type Verification } from "./damage";
import { ChangeIt } from "./RunHead";
import styles from "./RunPage.module.css";

interface Props {
  /** The run whose files they are. */
  run: string;
  /** Whether the page is that of another run, which repeats this one. */
  repeated: boolean;
  experiment: string | undefined;
  verification: UseQueryResult<Verification, Error>;
  /** What the service says of it before all files are read. */
  known: string | null;
  onAgain: () => void;
}

const STATES = { damaged: "its content is not what was kept", missing: "it is gone" } as Record<string, string>;

export function Damaged({ run, repeated, experiment, verification, known, onAgain }: Props) {
  const found = verification.data;
  const which = repeated ? `Run ${run}, which it repeats,` : "This run";
  if (found !== undefined && found.state !== "damaged") {
    return (
      <section aria-label="Damage" className={styles.repaired}>
        <h2>{which} was damaged, and is whole again</h2>
        <Button onClick={onAgain}>Look again</Button>
      </section>
    );
  }
  const bad = found === undefined ? [] : badFiles(found);
  return (
    <section aria-label="Damage" className={styles.failure}>
      <h2>{which} is damaged</h2>
      {verification.isFetching && (
        <p role="status">{known ?? "One of its files is not what was kept"}. All of them are being read …</p>
      )}
      {bad.length > 0 && (
        <ul aria-label="Damaged files">
          {bad.map(([name, state]) => (
            <li key={name}>
              <code>{name}</code>: {STATES[state]}
            </li>
          ))}
        </ul>
      )}
      {verification.error && <ErrorNote error={verification.error} />}
      {bad.length > 0 && <Repair command={repairOf(run, bad)} experiment={experiment} />}
      <p className={styles.hint}>
        Its measures were recorded when it was kept. Charts and downloads that need a damaged file are refused, and
        never show other numbers.
      </p>
      <Button onClick={onAgain}>Look again</Button>
    </section>
  );
}

function Repair({ command, experiment }: { command: string | null; experiment: string | undefined }) {
  const mayRun = useMay("run");
  if (command === null) {
    return (
      <>
        <p>
          Its manifest says what the run was, so nothing can make it again from its files. Run its experiment again:
          that replaces it, under the same id.
        </p>
        {mayRun && experiment !== undefined && <ChangeIt experiment={experiment} />}
      </>
    );
  }
  return (
    <>
      <p>
        This command, on the machine of the service, makes it again with the kernel, agent and modules that made it. The
        run keeps its id and its pin.
      </p>
      <p className={styles.command}>
        <code>{command}</code> <CopyButton text={() => command}>Copy</CopyButton>
      </p>
    </>
  );
}
