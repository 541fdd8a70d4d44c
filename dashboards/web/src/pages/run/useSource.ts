/** The series of a run for its charts: live while it is running, then from the kept trace, without a gap between them. */
import { useCallback, useEffect, useMemo, useState } from "react";
import { useEvents } from "../../api/events";
import { problemOf } from "../../api/problem";
import type { ServerEvent } from "../../api/sse";
import { KeptRun } from "../../charts/kept";
import { pointsFor, SHOWN } from "../../charts/request";
import type { Source } from "../../charts/source";
import { Span } from "../../charts/span";
import { hasTrace, isOver, type Outline, type Run } from "../../data/runDocument";
import { Feed } from "./feed";

export interface Watched {
  span: Span;
  /** Null until a source exists. */
  source: Source | null;
  /** While the run is running. */
  feed: Feed | null;
  /** Whether the stream is reconnecting. */
  broken: boolean;
  problem: unknown;
}

const isEnd = (event: ServerEvent): boolean => event.event === "end";

export function useSource(run: Run, outline: Outline, onEnd: () => void): Watched {
  const span = useMemo(() => new Span([0, outline.duration_s]), [outline.duration_s]);
  const lines = outline.flows.length;
  const [feed] = useState(() => (isOver(run.status) ? null : new Feed(outline.rtt_ms / 1000)));
  const [kept, setKept] = useState<KeptRun | null>(null);
  const [problem, setProblem] = useState<unknown>(null);
  const onEvent = useCallback((event: ServerEvent) => void (feed?.receive(event) && onEnd()), [feed, onEnd]);
  const following = useEvents(feed === null ? null : `/api/v1/runs/${run.id}/live`, onEvent, isEnd);
  useEffect(() => {
    if (feed === null || kept !== null) {
      span.grow(null);
      return;
    }
    span.grow(feed.frontS);
    return feed.onMore(() => span.grow(feed.frontS));
  }, [feed, kept, span]);
  const keeps = hasTrace(run);
  useEffect(() => {
    if (!keeps) return;
    const reading = new KeptRun(run.id, span.whole, SHOWN, pointsFor(lines));
    const fail = (error: unknown): void => {
      if (!(error instanceof DOMException)) setProblem(problemOf(error));
    };
    reading.open().then(() => setKept(reading), fail);
    const unsubscribe = span.onSettled(() => void reading.look(span.zoom).catch(fail));
    return () => {
      unsubscribe();
      reading.close();
    };
  }, [keeps, run.id, span, lines]);
  return {
    span,
    source: kept ?? feed,
    feed,
    broken: following.state === "waiting",
    problem: problem ?? following.problem,
  };
}
