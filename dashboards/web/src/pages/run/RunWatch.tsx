/** A run's charts, and how far it is while it goes on. */

import { useRef, useSyncExternalStore } from "react";
import { useEvents } from "../../api/events";
import type { ServerEvent } from "../../api/sse";
import { ErrorNote } from "../../parts/ErrorNote";
import { Waiting } from "../../parts/Waiting";
import { Clocks } from "./Clocks";
import { isKept, isOver, type Outline, type Run } from "./document";
import type { Feed } from "./feed";
import { RunCharts } from "./RunCharts";
import styles from "./RunPage.module.css";
import { useSource } from "./useSource";

interface Props {
  run: Run;
  outline: Outline;
  onEnd: () => void;
}

const WORDS: Record<Feed["state"], string> = {
  queued: "waiting for a slot",
  starting: "booting its guest",
  live: "live",
  elsewhere: "runs on another machine: its charts come when it has ended",
  ended: "reading what is kept",
};

export function RunWatch({ run, outline, onEnd }: Props) {
  const { span, source, feed, broken, problem } = useSource(run, outline, onEnd);
  const over = isOver(run.status);
  const state = useSyncExternalStore(feed?.onMore ?? never, () => feed?.state);
  const elsewhereS = useProgress(run.id, !over && state === "elsewhere");
  if (over && !isKept(run.status)) return null;
  return (
    <section aria-label="Charts" className={styles.watch}>
      {!over && feed !== null && (
        <Clocks
          durationS={outline.duration_s}
          startedAt={run.started_at}
          reachedS={() => Math.max(feed.frontS, elsewhereS.current)}
          word={() => (broken ? "service away, trying again" : WORDS[feed.state])}
        />
      )}
      {problem ? <ErrorNote error={problem} /> : null}
      {source === null ? (
        <Waiting label="Reading the traces" height="60rem" />
      ) : (
        <RunCharts run={run.id} outline={outline} source={source} span={span} />
      )}
    </section>
  );
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

const isFinished = (event: ServerEvent): boolean => event.event === "run.finished";
const never = (): (() => void) => () => {};
