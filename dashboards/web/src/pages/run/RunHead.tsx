/** Which run it is, how it stands, and what can be done with it. */
import { useState } from "react";
import { idOf } from "../../api/address";
import { useMay, useOwns } from "../../api/session";
import { StatusBadge } from "../../parts/Badge";
import { Button, LinkButton } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { linkTo } from "../../shell/route";
import { ago, duration, moment, rate } from "../../units";
import { documentOf, isKept, isOver, type Outline, pointText, type Run } from "./document";
import styles from "./RunPage.module.css";
import { useCancel, usePin, useRerun } from "./runQueries";

export function RunHead({ run, outline }: { run: Run; outline: Outline | null }) {
  const rerun = useRerun(run.id);
  const pin = usePin(run);
  const cancel = useCancel(run.experiments[0] ?? "");
  const mayRun = useMay("run");
  const isMine = useOwns(run.owner);
  const kept = isKept(run.status);
  const experiment = run.experiments[0];
  const failure = rerun.error ?? pin.error ?? cancel.error;
  const again = documentOf(run).rerun;
  return (
    <header className={styles.head}>
      <div className={styles.title}>
        <p className={styles.crumbs}>
          {experiment === undefined ? (
            "Run"
          ) : (
            <a href={linkTo(["experiments", experiment])}>Experiment {run.experiment}</a>
          )}
        </p>
        <h1>
          {pointText(run.point) || run.experiment} <StatusBadge status={run.status} />
        </h1>
        <p className={styles.about}>
          {outline?.links[0] && (
            <span>
              {rate(outline.links[0].rate_bps)}, {duration(outline.rtt_ms / 1000)}
            </span>
          )}
          <span>{run.backend}</span>
          <span>{outline?.clock === "real" ? "real time" : "virtual time"}</span>
          <span>kernel {run.kernel}</span>
          <span>seed {run.seed}</span>
          <span title={moment(run.created_at)}>{ago(run.finished_at ?? run.created_at)}</span>
          <code title="The hash of all that determines it">{run.id}</code>
        </p>
      </div>
      <div className={styles.actions}>
        {kept && <LinkButton href={linkTo(["compare"], `runs=${run.id}`)}>Compare</LinkButton>}
        {mayRun && experiment !== undefined && <ChangeIt experiment={experiment} />}
        {mayRun && kept && (
          <Button
            busy={rerun.isPending}
            onClick={() => rerun.mutate()}
            title="The same again, and whether it is identical"
          >
            Rerun
          </Button>
        )}
        {mayRun && kept && (
          <Button
            busy={pin.isPending}
            aria-pressed={run.pinned}
            onClick={() => pin.mutate()}
            title="Retention leaves it alone"
          >
            {run.pinned ? "Unpin" : "Pin"}
          </Button>
        )}
        <CopyLink />
        {mayRun && isMine && !isOver(run.status) && experiment !== undefined && (
          <Button
            kind="danger"
            busy={cancel.isPending}
            onClick={() => cancel.mutate()}
            title={`Cancels the experiment ${run.experiment}`}
          >
            Cancel
          </Button>
        )}
      </div>
      {failure && <ErrorNote error={failure} />}
      {again && (
        <p className={styles.note}>
          It is <a href={linkTo(["runs", again.run])}>run {idOf(again.run)}</a> once more:{" "}
          {again.identical
            ? "every byte of the trace is the same."
            : `the trace differs. ${again.differences.join("; ")}`}
        </p>
      )}
    </header>
  );
}

/** To another one, which begins with the same text. */
export function ChangeIt({ experiment }: { experiment: string }) {
  return <LinkButton href={linkTo(["launch"], `again=${experiment}`)}>Change and launch</LinkButton>;
}

/** The address holds all of the view. */
export function CopyLink() {
  const [copied, setCopied] = useState(false);
  return (
    <Button
      title="The address restores exactly this view"
      onClick={() => {
        void navigator.clipboard?.writeText(window.location.href).then(() => setCopied(true));
        window.setTimeout(() => setCopied(false), 2000);
      }}
    >
      {copied ? "Copied" : "Copy link"}
    </Button>
  );
}
