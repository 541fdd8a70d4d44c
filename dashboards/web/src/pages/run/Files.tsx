/** The files of a run to download, and whether they are intact. */
import type { UseQueryResult } from "@tanstack/react-query";
import { addressOf } from "../../api/address";
import { hasTrace, type Run } from "../../data/runDocument";
import { Badge } from "../../parts/Badge";
import { Button, LinkButton } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { badFiles, sourceOf, type Verification } from "./damage";
import styles from "./RunPage.module.css";

const FILES: readonly (readonly [name: string, about: string])[] = [
  ["manifest.json", "everything that determines the run, and its result"],
  ["flows.csv", "the bytes that receivers got"],
  ["acks.csv", "the TCP state at every ACK"],
  ["links.csv", "queues at every sample"],
  ["drops.csv", "every dropped packet"],
  ["acks.parquet", "the same, for programs"],
  ["run.flent.gz", "the run as a data file of flent"],
  ["log.txt", "the guest’s log"],
];

interface Props {
  run: Run;
  verification: UseQueryResult<Verification, Error>;
}

export function Files({ run, verification }: Props) {
  if (!hasTrace(run)) return null;
  const bad = new Set(verification.data && badFiles(verification.data).map(([name]) => name));
  return (
    <Panel title="Files" actions={!run.partial && <Verify verification={verification} />}>
      {verification.error && <ErrorNote error={verification.error} />}
      {verification.data?.state === "unsealed" && (
        <p className={styles.hint}>
          The run was kept by a version without hashes of files, so its files cannot be verified. Rerun it to check
          them.
        </p>
      )}
      <ul className={styles.files}>
        {FILES.map(([name, about]) => (
          <li key={name}>
            {bad.has(sourceOf(name)) ? (
              <>
                {name} <Badge tone="bad">damaged</Badge>
              </>
            ) : (
              <a href={addressOf(`/api/v1/runs/${run.id}/files/${name}`)} download>
                {name}
              </a>
            )}{" "}
            <span>{about}</span>
          </li>
        ))}
      </ul>
      {!run.partial && <LinkButton href={addressOf(`/api/v1/runs/${run.id}/report`)}>Report</LinkButton>}
      {run.links.grafana && <LinkButton href={run.links.grafana}>Open in Grafana</LinkButton>}
    </Panel>
  );
}

const TONES = { whole: "good", unsealed: "neutral", damaged: "bad" } as const;

function Verify({ verification }: { verification: UseQueryResult<Verification, Error> }) {
  const { data, isFetching, refetch } = verification;
  return (
    <>
      {data !== undefined && <Badge tone={TONES[data.state]}>{data.state}</Badge>}
      <Button busy={isFetching} title="Reads every file and checks its hash" onClick={() => void refetch()}>
        Verify
      </Button>
    </>
  );
}
