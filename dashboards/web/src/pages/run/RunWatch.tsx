/** A run's charts and, while it is running, its progress. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { useEvents } from "../../api/events";
import { problemOf } from "../../api/problem";
import { readAgain } from "../../api/queries";
import type { ServerEvent } from "../../api/sse";
import { hasTrace, isOver, type Outline, type Run } from "../../data/runDocument";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { lazily, once } from "../loading";
import { Clocks } from "./Clocks";
import { isDamage } from "./damage";
import { ExplorePanel } from "./ExplorePanel";
import type { Feed } from "./feed";
import { RunCharts } from "./RunCharts";
import styles from "./RunPage.module.css";
import { useSource } from "./useSource";

interface Props {
  run: Run;
  outline: Outline;
  onEnd: () => void;
  /** Called when a file that the charts need is damaged; without it the charts show the error. */
  onDamage?: (() => void) | undefined;
}

// Below the charts, which come first.
const MomentList = lazily(
  once(() => import("./MomentList")),
  "27rem",
);

const TEXTS: Record<Feed["state"], string> = {
  queued: "queued",
  starting: "booting its guest",
  live: "live",
  elsewhere: "running on another machine: charts appear when the run has ended",
  ended: "reading the trace",
};

export function RunWatch({ run, outline, onEnd, onDamage }: Props) {
  const { span, source, feed, broken, problem } = useSource(run, outline, onEnd);
  const over = isOver(run.status);
  const isDamaged = isDamage(problem);
  const isRefused = problem != null && !isAway(problem);
  useEffect(() => {
    if (isDamaged) onDamage?.();
  }, [isDamaged, onDamage]);
  const state = useSyncExternalStore(feed?.onMore ?? never, () => feed?.state);
  // The database is behind: a run that sends samples is running.
  const behind = run.status === "queued" && (state === "live" || state === "starting");
  useEffect(() => {
    if (behind) void readAgain(["run", run.id]);
  }, [behind, run.id]);
  const elsewhereS = useProgress(run.id, !over && state === "elsewhere");
  if (over && !hasTrace(run)) return null;
  return (
    <section aria-label="Charts" className={styles.watch}>
      {!over && feed !== null && (
        <Clocks
          durationS={outline.duration_s}
          startedAt={run.started_at}
          reachedS={() => (feed.state === "elsewhere" ? elsewhereS.current : feed.reachedS)}
          word={() => (broken ? "paused" : textOf(feed))}
        />
      )}
      {isRefused && !(isDamaged && onDamage) && <ErrorNote error={problem} />}
      {source === null ? (
        !isRefused && <Waiting label="Reading the traces" height="60rem" />
      ) : (
        <RunCharts run={run.id} outline={outline} source={source} span={span} />
      )}
      {over && !isRefused && source !== null && (
        <>
          <ExplorePanel run={run.id} outline={outline} source={source} span={span} />
          <MomentList run={run.id} outline={outline} span={span} />
        </>
      )}
    </section>
  );
}

/** The state of the charts, including a new attempt that repeats what they show already. */
function textOf({ state, repeating, frontS }: Feed): string {
  const known = frontS.toFixed(1);
  if (state === "live" && repeating !== null) return `attempt ${repeating}, repeating the ${known} s shown`;
  if (frontS > 0 && (state === "queued" || state === "starting")) {
    return `${TEXTS[state]} for a new attempt from 0 s; ${known} s shown`;
  }
  return TEXTS[state];
}

/** The progress of a run that sends no samples to this page, about once a second. */
function useProgress(run: string, wanted: boolean): { current: number } {
  const reached = useRef(0);
  const hear = (event: ServerEvent): void => {
    if (event.event !== "run.progress") return;
    reached.current = (JSON.parse(event.data) as { virtual_s: number }).virtual_s;
  };
  useEvents(wanted ? `/api/v1/runs/${run}/events` : null, hear, isFinished);
  return reached;
}

/** The header reports it already, and the page continues when the service is back. */
const isAway = (problem: unknown): boolean => problemOf(problem).status === 0;
const isFinished = (event: ServerEvent): boolean => event.event === "run.finished";
const never = (): (() => void) => () => {};
