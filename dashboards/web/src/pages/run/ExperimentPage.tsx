/** One experiment: its progress, its runs, and the charts of any of them. */
import { useQuery } from "@tanstack/react-query";
import { AnnotateButton } from "../../annotations/AnnotateButton";
import { Annotation } from "../../annotations/Annotation";
import { idOf } from "../../api/address";
import { answered, api } from "../../api/client";
import { useMay, useOwns } from "../../api/session";
import { CopyAs } from "../../copying/CopyAs";
import { isKept, isOver, pointText } from "../../data/runDocument";
import { listOf, type RunRow } from "../../data/runList";
import { linkTo } from "../../navigation/route";
import { useOwnTitle } from "../../navigation/title";
import { text, useViewState } from "../../navigation/viewState";
import { Ago } from "../../parts/Ago";
import { StatusBadge, signOf } from "../../parts/Badge";
import { LinkButton } from "../../parts/Button";
import { ErrorNote } from "../../parts/ErrorNote";
import { Panel } from "../../parts/Panel";
import { Waiting } from "../../parts/Waiting";
import { ShareButton } from "../../sharing/ShareButton";
import { count } from "../../units";
import { BaselineButton } from "./BaselineButton";
import { CancelButton } from "./Cancel";
import { Expectations } from "./Expectations";
import { ExperimentNotes } from "./ExperimentNotes";
import { ExperimentRuns } from "./ExperimentRuns";
import { ExperimentSummary } from "./ExperimentSummary";
import { isId, isMissing, Missing } from "./Missing";
import { Progress } from "./Progress";
import { ChangeAndLaunch, CopyLink } from "./RunHead";
import styles from "./RunPage.module.css";
import { RunWatch } from "./RunWatch";
import { type Experiment, useCancel, useChanges, useExperiment, useOutline, useRun } from "./runQueries";

const VIEW = { run: text() };
// The list of runs, which has filters, shows the others.
const MOST_ROWS = 200;

export function ExperimentPage({ id }: { id: string }) {
  const experiment = useExperiment(id);
  const over = experiment.data !== undefined && isOver(experiment.data.status);
  const version = JSON.stringify(experiment.data?.progress ?? null);
  const runs = useQuery({
    queryKey: ["experiment", id, "runs"],
    queryFn: () =>
      answered(api.GET("/api/v1/runs", { params: { query: { experiment_id: id, limit: MOST_ROWS, sort: "oldest" } } })),
  });
  useChanges("experiment", id, experiment.data === undefined || over);
  const [view, setView] = useViewState(VIEW);
  if (!isId("experiment", id) || (experiment.error && isMissing(experiment.error))) {
    return <Missing noun="experiment" id={id} />;
  }
  if (experiment.error) return <ErrorNote error={experiment.error} />;
  if (experiment.data === undefined || runs.data === undefined) {
    return <Waiting label="Opening the experiment" height="70vh" />;
  }
  const order = new Map(experiment.data.runs.map((href, at) => [idOf(href), at]));
  const rows = [...runs.data.items].sort((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
  const chosen = rows.find((row) => row.id === view.run) ?? rows.find((row) => row.status === "running") ?? rows[0];
  return (
    <div className="stack">
      <ExperimentHead experiment={experiment.data} rows={rows} />
      <Progress experiment={experiment.data} rows={rows} />
      <ExperimentNotes notes={experiment.data.notes} />
      {runs.error && <ErrorNote error={runs.error} />}
      {rows.length > 1 && (
        <Panel title={`${count(experiment.data.progress.total)} runs`}>
          <ExperimentRuns rows={rows} shown={chosen?.id ?? ""} onShow={(run) => setView({ run })} />
          {runs.data.next && (
            <p>
              The table shows the first {MOST_ROWS}. <a href={listOf({ of: id })}>All runs</a>
            </p>
          )}
        </Panel>
      )}
      {chosen && <Shown key={chosen.id} id={chosen.id} alone={rows.length === 1} />}
      <ExperimentSummary id={id} version={version} points={rows} />
    </div>
  );
}

function ExperimentHead({ experiment, rows }: { experiment: Experiment; rows: readonly RunRow[] }) {
  const cancel = useCancel(experiment.id);
  const mayRun = useMay("run");
  const isMine = useOwns(experiment.owner);
  const { total, done, missed, failed, cancelled } = experiment.progress;
  const behind = done + missed + failed + cancelled;
  const progress = isOver(experiment.status) ? "" : ` ${count(behind)} of ${count(total)}`;
  useOwnTitle(`${signOf(experiment.status)}${progress} ${experiment.title || experiment.name}`);
  const swept = Object.keys(rows[0]?.point ?? {}).length;
  const ended = rows.some((row) => isKept(row.status));
  // The database changes its status only when its first run ends.
  const begun = experiment.status === "queued" && rows.some((row) => row.status !== "queued");
  return (
    <header className={styles.head}>
      <div className={styles.title}>
        <p className={styles.crumbs}>Experiment{experiment.title && ` ${experiment.name}`}</p>
        <h1>
          {experiment.title || experiment.name} <StatusBadge status={begun ? "running" : experiment.status} />
        </h1>
        {experiment.about && <p>{experiment.about}</p>}
        <Annotation tags={experiment.tags} comment={experiment.comment} />
        <p className={styles.about}>
          <span>{experiment.owner}</span>
          <Ago at={experiment.created_at} />
          <code>{experiment.id}</code>
        </p>
      </div>
      <div className={styles.actions}>
        {ended && rows.length > 1 && (
          <LinkButton href={linkTo(["compare"], `experiment=${experiment.id}${swept > 0 ? "&show=map" : ""}`)}>
            {swept > 0 ? "Heat map" : "Compare runs"}
          </LinkButton>
        )}
        {ended && rows.length > 1 && (
          <LinkButton href={linkTo(["experiments", experiment.id, "explore"], swept > 0 ? "" : "show=bands")}>
            Explore
          </LinkButton>
        )}
        {mayRun && <ChangeAndLaunch experiment={experiment.id} />}
        {mayRun && !isOver(experiment.status) && (
          <LinkButton href={linkTo(["lab", "notifications"], `of=${experiment.id}`)}>Notify me</LinkButton>
        )}
        <CopyLink />
        {ended && <ShareButton what={{ experiment_id: experiment.id }} name="this experiment" />}
        <CopyAs experiment={experiment.id} />
        {mayRun && isKept(experiment.status) && <BaselineButton name={experiment.name} experiment={experiment.id} />}
        {mayRun && isMine && <AnnotateButton noun="experiment" subject={experiment} />}
        {mayRun && isMine && !isOver(experiment.status) && (
          <CancelButton
            name={experiment.name}
            runs={experiment.progress.total}
            virtualS={Math.max(0, ...rows.map((row) => row.virtual_s))}
            busy={cancel.isPending}
            onCancel={() => cancel.mutate()}
          />
        )}
      </div>
      {cancel.error && <ErrorNote error={cancel.error} />}
    </header>
  );
}

/** The chosen run, with its charts. */
function Shown({ id, alone }: { id: string; alone: boolean }) {
  const run = useRun(id);
  const outline = useOutline(id);
  if (run.error) return <ErrorNote error={run.error} />;
  if (run.data === undefined || outline.isPending) return <Waiting label="Opening the run" height="40rem" />;
  const title = alone ? "Run" : `Run: ${pointText(run.data.point) || `seed ${run.data.seed}`}`;
  return (
    <Panel bare title={title} actions={<LinkButton href={linkTo(["runs", id])}>Open the run</LinkButton>}>
      <Expectations run={run.data} />
      {outline.data ? (
        <RunWatch run={run.data} outline={outline.data} onEnd={() => void run.refetch()} />
      ) : (
        <p>
          The run is {run.data.status} and has no charts. <a href={linkTo(["runs", id])}>Details</a>
        </p>
      )}
    </Panel>
  );
}
