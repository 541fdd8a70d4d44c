/** A lab without runs: the first three steps. */
import type { ReactNode } from "react";
import { BASE } from "../../api/address";
import { useMay } from "../../api/session";
import { linkTo } from "../../navigation/hash";
import { LinkButton } from "../../parts/Button";
import styles from "./Start.module.css";

export function FirstSteps() {
  const may = useMay("run");
  return (
    <div className={styles.first}>
      <h1>No runs yet</h1>
      <p className={styles.lead}>
        Every run is real Linux TCP in its own guest, in virtual time. A rerun gives the same trace, byte for byte.
        {!may && " Your token may read but not run experiments: ask the operator for a token with the scope run."}
      </p>
      <ol className={styles.steps}>
        <Step
          title="Let two flows compete"
          action={
            <LinkButton href={linkTo(["launch"], "from=demo")} kind="primary">
              Open the demo
            </LinkButton>
          }
        >
          CUBIC and H-TCP at 622 Mbit/s and 300 ms. Edit the experiment as a form or as text, launch it, and watch
          window, rate and queue while it is running.
        </Step>
        <Step title="Reproduce a paper" action={<LinkButton href={linkTo(["papers"])}>Choose a figure</LinkButton>}>
          Figures of published papers, one click each: the published claims, the values measured here, and whether they
          agree.
        </Step>
        <Step
          title="Compare runs"
          action={<LinkButton href={linkTo(["launch"], "from=rtt-sweep")}>Open a sweep</LinkButton>}
        >
          Sweep a parameter or repeat with other seeds, select runs in the list, and see their differences with
          intervals.
        </Step>
      </ol>
      <p className="soft">
        The demo from a terminal, with your token in <code>LONGHAUL_TOKEN</code>:{" "}
        <code>longhaul run demo --server {window.location.origin + BASE}</code>
      </p>
    </div>
  );
}

function Step({ title, action, children }: { title: string; action: ReactNode; children: ReactNode }) {
  return (
    <li className={styles.step}>
      <h2>{title}</h2>
      <p>{children}</p>
      {action}
    </li>
  );
}
