/** Requests of the pages of runs and experiments. */
import { type UseQueryResult, useMutation, useQuery } from "@tanstack/react-query";
import { useCallback, useRef } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { useEvents } from "../../api/events";
import { readAgain } from "../../api/queries";
import type { ServerEvent } from "../../api/sse";
import type { Outline, Run } from "../../data/runDocument";
import { isLive } from "../../data/runList";

export type Experiment = Schemas["Experiment"];

export function useRun(id: string): UseQueryResult<Run, Error> {
  return useQuery({ queryKey: ["run", id], queryFn: () => answered(api.GET("/api/v1/runs/{id}", at(id))) });
}

/** The outline of a run's charts; null for a run without a trace. */
export function useOutline(id: string): UseQueryResult<Outline | null, Error> {
  return useQuery({
    queryKey: ["outline", id],
    queryFn: async () => {
      const answer = await api.GET("/api/v1/runs/{id}/outline", at(id));
      return answer.response.status === 404 ? null : answered(Promise.resolve(answer));
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export function useExperiment(id: string): UseQueryResult<Experiment, Error> {
  return useQuery({
    queryKey: ["experiment", id],
    queryFn: () => answered(api.GET("/api/v1/experiments/{id}", at(id))),
  });
}

/** The summary of an experiment so far. */
export function useSummary(id: string, version: string): UseQueryResult<Schemas["Result"], Error> {
  return useQuery({
    queryKey: ["summary", id, version],
    queryFn: () => answered(api.GET("/api/v1/experiments/{id}/summary", at(id))),
    placeholderData: (before) => before,
  });
}

const MOST_RERUNS = 3;
const RERUN_POLL_MS = 700;
// A sweep of quick runs has many events per second.
const REFETCH_MS = 400;

/** Reads a run, or an experiment and its runs, again soon after each event, until it has ended. */
export function useChanges(noun: "run" | "experiment", id: string, over: boolean): void {
  const due = useRef({ timer: 0, keys: new Set<string>() });
  const onEvent = useCallback(
    ({ event, data }: ServerEvent) => {
      if (event === "run.progress") return;
      const { run } = JSON.parse(data) as { run: string | null };
      const waiting = due.current;
      waiting.keys.add(`${noun} ${id}`);
      if (run !== null) waiting.keys.add(`run ${run}`);
      if (waiting.timer !== 0) return;
      waiting.timer = window.setTimeout(() => {
        waiting.timer = 0;
        for (const key of waiting.keys) void readAgain(key.split(" "));
        waiting.keys.clear();
      }, REFETCH_MS);
    },
    [noun, id],
  );
  const isLast = useCallback((event: ServerEvent) => event.event === `${noun}.finished`, [noun]);
  useEvents(over ? null : `/api/v1/${noun}s/${id}/events`, onEvent, isLast);
}

export function useCancel(experiment: string) {
  return useMutation({
    mutationFn: () => answered(api.POST("/api/v1/experiments/{id}/cancel", at(experiment))),
    meta: { again: [] },
  });
}

/** Reruns a run from its manifest; the result is shown on this run's page. */
export function useRerun(run: string) {
  return useMutation({
    mutationFn: () => answered(api.POST("/api/v1/runs/{id}/rerun", at(run))),
    meta: { again: ["reruns", run] },
  });
}

/** The newest reruns of a run, read again while one is running. */
export function useReruns(run: string, enabled = true) {
  return useQuery({
    queryKey: ["reruns", run],
    queryFn: () =>
      answered(
        api.GET("/api/v1/runs", { params: { query: { text: `rerun=${run}`, limit: MOST_RERUNS, sort: "newest" } } }),
      ),
    refetchInterval: (query) => (query.state.data?.items.some(isLive) ? RERUN_POLL_MS : false),
    enabled,
  });
}

/** Reruns a run for its packets. */
export function useCapture(run: string) {
  return useMutation({
    mutationFn: (asked: Schemas["Capture"]) =>
      answered(api.POST("/api/v1/runs/{id}/packets", { ...at(run), body: asked })),
    meta: { again: ["reruns", run] },
  });
}

export function usePin(run: Run) {
  return useMutation({
    mutationFn: () =>
      answered(
        run.pinned ? api.DELETE("/api/v1/runs/{id}/pin", at(run.id)) : api.PUT("/api/v1/runs/{id}/pin", at(run.id)),
      ),
    meta: { again: ["run", run.id] },
  });
}

function at(id: string) {
  return { params: { path: { id } } };
}
