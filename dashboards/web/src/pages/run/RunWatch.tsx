/** A run's charts, and how far it is while it goes on. */

import { useEffect, useRef, useSyncExternalStore } from "react";
import { useEvents } from "../../api/events";
import { problemOf } from "../../api/problem";
import { queries } from "../../api/queries";
import type { ServerEvent } from "../../api/sse";
import { hasTrace, isOver, type Outline, type Run } from "../../data/runDocument";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { Clocks } from "./Clocks";
import { isDamage } from "./damage";
import type { Feed } from "./feed";
import { RunCharts } from "./RunCharts";
import styles from "./RunPage.module.css";
import { useSource } from "./useSource";

interface Props {
  run: Run;
  outline: Outline;
  onEnd: () => void;
  /** Says that a file which its charts need is damaged; without it the charts say so themselves. */
  onDamage?: (() => void) | undefined;
}

const WORDS: Record<Feed["state"], string> = {
  queued: "waiting for a slot",
  starting: "booting its guest",
  live: "live",
  elsewhere: "runs on another machine: its charts come when it has ended",
  ended: "reading what is kept",
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
  // The record is behind: what is live runs.
  const behind = run.status === "queued" && (state === "live" || state === "starting");
  useEffect(() => {
    if (behind) void queries.invalidateQueries({ queryKey: ["run", run.id] });
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
          word={() => (broken ? "service away, trying again" : wordOf(feed))}
        />
      )}
      {isRefused && !(isDamaged && onDamage) && <ErrorNote error={problem} />}
      {source === null ? (
        !isRefused && <Waiting label="Reading the traces" height="60rem" />
      ) : (
        <RunCharts run={run.id} outline={outline} source={source} span={span} />
      )}
    </section>
  );
}

/** What its charts do, where an attempt repeats what they show already. */
function wordOf({ state, repeating, frontS }: Feed): string {
  const known = frontS.toFixed(1);
  if (state === "live" && repeating !== null) return `attempt ${repeating}, repeating the ${known} s that are shown`;
  if (frontS > 0 && (state === "queued" || state === "starting")) {
    return `${WORDS[state]} for another attempt, which begins at 0 s; ${known} s are shown`;
  }
  return WORDS[state];
}

/** How far a run is that tells no samples here, about once a second. */
function useProgress(run: string, wanted: boolean): { current: number } {
  const reached = useRef(0);
  const hear = (event: ServerEvent): void => {
    if (event.event !== "run.progress") return;
    reached.current = (JSON.parse(event.data) as { virtual_s: number }).virtual_s;
  };
  useEvents(wanted ? `/api/v1/runs/${run}/events` : null, hear, isFinished);
  return reached;
}

/** The header says so already, and the page goes on by itself. */
const isAway = (problem: unknown): boolean => problemOf(problem).status === 0;
const isFinished = (event: ServerEvent): boolean => event.event === "run.finished";
const never = (): (() => void) => () => {};
