/** The head of a run's page: its name, status and actions. */
import { useEffect } from "react";
import { AnnotateButton } from "../../annotations/AnnotateButton";
import { Annotation } from "../../annotations/Annotation";
import { onReturn } from "../../api/connection";
import { useMay, useOwns } from "../../api/session";
import { CopyAs } from "../../copying/CopyAs";
import { documentOf, isKept, isOver, type Outline, originalOf, pointText, type Run } from "../../data/runDocument";
import { useLatest } from "../../hooks";
import { linkTo } from "../../navigation/route";
import { Badge, StatusBadge } from "../../parts/Badge";
import { Button, LinkButton } from "../../parts/Button";
import { CopyButton } from "../../parts/CopyButton";
import { ErrorNote } from "../../parts/ErrorNote";
import { ShareButton } from "../../sharing/ShareButton";
import { ago, digits, duration, moment, rate } from "../../units";
import { CancelButton } from "./Cancel";
import { Reruns } from "./Reruns";
import styles from "./RunPage.module.css";
import { useCancel, usePin, useRerun } from "./runQueries";

interface Props {
  run: Run;
  outline: Outline | null;
  /** Whether a file of its trace is damaged. */
  damaged: boolean;
}

export function RunHead({ run, outline, damaged }: Props) {
  const rerun = useRerun(run.id);
  const pin = usePin(run);
  const cancel = useCancel(run.experiments[0] ?? "");
  const mayRun = useMay("run");
  const mayRead = useMay("read");
  const isMine = useOwns(run.owner);
  const original = originalOf(run);
  const kept = isKept(run.status) && original === null;
  const experiment = run.experiments[0];
  const failure = rerun.error ?? pin.error ?? cancel.error;
  const again = documentOf(run).rerun;
  const actions = useLatest([rerun, pin, cancel]);
  // Clear errors of requests that failed because the service was away.
  useEffect(
    () =>
      onReturn(() => {
        for (const { reset } of actions.current) reset();
      }),
    [actions],
  );
  return (
    <header className={styles.head}>
      <div className={styles.title}>
        <p className={styles.crumbs}>
          {experiment === undefined || !mayRead ? (
            "Run"
          ) : (
            <a href={linkTo(["experiments", experiment])}>Experiment {run.experiment}</a>
          )}
        </p>
        <h1>
          {original !== null && "Rerun of "}
          {run.title || pointText(run.point) || run.experiment} <StatusBadge status={run.status} />
          {run.partial && <Badge tone="warn">partial trace</Badge>}
          {damaged && <Badge tone="bad">damaged</Badge>}
        </h1>
        <Annotation tags={run.tags} comment={run.comment} />
        <p className={styles.about}>
          {run.title && <span>{pointText(run.point)}</span>}
          {outline?.links[0] && (
            <span>
              {rate(outline.links[0].rate_bps)}, {duration(outline.rtt_ms / 1000)}
            </span>
          )}
          <span>{run.backend}</span>
          <span>{outline?.clock === "real" ? "real time" : "virtual time"}</span>
          <span title={documentOf(run).kernel_parts?.about}>kernel {run.kernel}</span>
          {documentOf(run).parts !== undefined && <span>{documentOf(run).parts} guests</span>}
          <span>seed {run.seed}</span>
          <span title={moment(run.created_at)}>{ago(run.finished_at ?? run.created_at)}</span>
          <code title="The hash of everything that determines the run">{run.id}</code>
        </p>
      </div>
      <div className={styles.actions}>
        {kept && mayRead && <LinkButton href={linkTo(["compare"], `runs=${run.id}`)}>Compare</LinkButton>}
        {mayRun && experiment !== undefined && <ChangeAndLaunch experiment={experiment} />}
        {mayRun && kept && (
          <Button
            busy={rerun.isPending}
            onClick={() => rerun.mutate()}
            title="Simulates the run again and compares the traces"
          >
            Rerun
          </Button>
        )}
        {mayRun && kept && (
          <Button
            busy={pin.isPending}
            aria-pressed={run.pinned}
            onClick={() => pin.mutate()}
            title="longhaul prune leaves pinned runs"
          >
            {run.pinned ? "Unpin" : "Pin"}
          </Button>
        )}
        <CopyLink />
        {mayRun && isMine && <AnnotateButton noun="run" subject={run} />}
        {kept && <ShareButton what={{ runs: [run.id] }} name="this run" />}
        {mayRead && experiment !== undefined && original === null && <CopyAs experiment={experiment} run={run} />}
        {mayRun && isMine && !isOver(run.status) && experiment !== undefined && (
          <CancelButton
            name={run.experiment}
            runs={1}
            virtualS={run.virtual_s}
            busy={cancel.isPending}
            onCancel={() => cancel.mutate()}
          />
        )}
      </div>
      {failure && <ErrorNote error={failure} />}
      {run.partial && outline?.partial_s != null && (
        <p className={styles.note}>
          The run was cancelled at {digits(outline.partial_s)} s of {digits(outline.duration_s)} s. The charts show its
          partial trace, which is not a result and is deleted when the run is simulated again.
        </p>
      )}
      {original !== null && (
        <p className={styles.note}>
          This is a rerun of <a href={linkTo(["runs", original])}>run {original}</a>
          {again === undefined
            ? "."
            : again.identical
              ? "; the traces are equal, byte for byte, and the charts and files shown are those of the original."
              : `; the traces differ. The trace of a rerun is not kept. ${again.differences.join("; ")}`}
        </p>
      )}
      {kept && mayRead && <Reruns run={run.id} />}
    </header>
  );
}

/** A link to Launch with the text of this experiment. */
export function ChangeAndLaunch({ experiment }: { experiment: string }) {
  return <LinkButton href={linkTo(["launch"], `again=${experiment}`)}>Change and launch</LinkButton>;
}

/** Copies the address, which contains the whole state of the view. */
export function CopyLink() {
  return (
    <CopyButton title="The link opens exactly this view" text={() => window.location.href}>
      Copy link
    </CopyButton>
  );
}
