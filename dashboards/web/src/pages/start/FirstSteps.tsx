/** A lab in which nothing was run yet: the three things to do first. */
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
      <h1>Nothing was run here yet</h1>
      <p className={styles.lead}>
        Every run is real Linux TCP in a guest of its own, in virtual time: the same to the byte whenever it is
        repeated.
        {!may && " Your token may look and not run: ask whoever gave it to you for one of scope run."}
      </p>
      <ol className={styles.steps}>
        <Step
          title="Let two compete"
          action={
            <LinkButton href={linkTo(["launch"], "from=demo")} kind="primary">
              Open the demo
            </LinkButton>
          }
        >
          CUBIC and H-TCP on 622 Mbit/s over 300 ms. Change what you like, as a form or as text, launch it, and watch
          window, rate and queue while it goes on.
        </Step>
        <Step
          title="Hold a paper against it"
          action={<LinkButton href={linkTo(["papers"])}>Choose a figure</LinkButton>}
        >
          Figures of published papers, one press each: what was claimed, what is measured here, and whether both agree.
        </Step>
        <Step
          title="Compare two of anything"
          action={<LinkButton href={linkTo(["launch"], "from=rtt-sweep")}>Open a sweep</LinkButton>}
        >
          Sweep a parameter or repeat with other seeds, pick runs in the list, and see their differences with intervals.
        </Step>
      </ol>
      <p className={styles.quiet}>
        The first from a terminal, with your token in <code>LONGHAUL_TOKEN</code>:{" "}
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
