/** The compared runs: their documents, short names and series. */
import { useQueries, useQuery } from "@tanstack/react-query";
import { useEffect, useLayoutEffect, useMemo, useState } from "react";
import { answered, api } from "../../api/client";
import { problemOf } from "../../api/problem";
import { KeptRun } from "../../charts/kept";
import { pointsFor } from "../../charts/request";
import { Span } from "../../charts/span";
import { isKept, type Outline, pointText, type Run } from "../../data/runDocument";
import { ago } from "../../units";

export interface ComparedRun {
  id: string;
  /** Short and unique. */
  name: string;
  run: Run;
  outline: Outline;
}

export interface Compared {
  runs: readonly ComparedRun[];
  /** Runs that cannot be drawn, with the error. */
  failed: readonly { id: string; error: unknown }[];
}

export function useCompared(ids: readonly string[]): Compared {
  const found = useQueries({
    queries: ids.map((id) => ({
      queryKey: ["compared", id],
      staleTime: 60_000,
      queryFn: async (): Promise<{ run: Run; outline: Outline }> => {
        const path = { params: { path: { id } } };
        const [run, outline] = await Promise.all([
          answered(api.GET("/api/v1/runs/{id}", path)),
          answered(api.GET("/api/v1/runs/{id}/outline", path)),
        ]);
        if (!isKept(run.status)) throw new Error(`run ${id} is ${run.status} and has no series`);
        return { run, outline };
      },
    })),
    combine: (results) => ({
      data: results.map((one) => one.data),
      errors: results.map((one) => one.error),
      pending: results.some((one) => one.isPending),
    }),
  });
  const key = JSON.stringify(ids);
  const { data, errors, pending } = found;
  const [compared, setCompared] = useState<Compared>({ runs: [], failed: [] });
  // The name of a run depends on the others: all names change together, when all runs are loaded.
  useLayoutEffect(() => {
    if (pending) return;
    const known = (JSON.parse(key) as string[]).map((id, at) => ({ id, of: data[at], error: errors[at] }));
    setCompared({
      runs: named(known.flatMap(({ id, of }) => (of ? [{ id, ...of }] : []))),
      failed: known.flatMap(({ id, error }) => (error ? [{ id, error }] : [])),
    });
  }, [key, data, errors, pending]);
  return compared;
}

/** Names runs by what distinguishes them: the experiment, the point, the seed, or the id. */
function named(runs: readonly Omit<ComparedRun, "name">[]): ComparedRun[] {
  const differ = (of: (run: Run) => string): boolean => new Set(runs.map(({ run }) => of(run))).size > 1;
  const parts: ((run: Run) => string)[] = [];
  if (differ((run) => run.experiment)) parts.push((run) => run.experiment);
  const paths = new Set(runs.flatMap(({ run }) => Object.keys(run.point)));
  for (const path of paths) {
    if (differ((run) => run.point[path] ?? "")) parts.push((run) => pointText({ [path]: run.point[path] ?? "–" }));
  }
  if (differ((run) => String(run.seed))) parts.push((run) => `seed ${run.seed}`);
  if (parts.length === 0) parts.push((run) => run.experiment);
  const names = runs.map(({ run }) =>
    parts
      .map((part) => part(run))
      .filter(Boolean)
      .join(", "),
  );
  return runs.map((one, at) => {
    const name = names[at] ?? one.id;
    return {
      ...one,
      name: names.indexOf(name) === at && names.lastIndexOf(name) === at ? name : `${name} ${one.id.slice(0, 6)}`,
    };
  });
}

export interface ComparedSeries {
  span: Span;
  sources: ReadonlyMap<string, KeptRun>;
  problem: unknown;
}

/** The series of all runs on one time axis, as long as the longest run. */
export function useComparedSeries(compared: Compared, measures: readonly string[]): ComparedSeries {
  const longest = Math.max(1e-3, ...compared.runs.map(({ outline }) => outline.duration_s));
  const span = useMemo(() => new Span([0, longest]), [longest]);
  const [state, setState] = useState<{ sources: ReadonlyMap<string, KeptRun>; problem: unknown }>({
    sources: new Map(),
    problem: null,
  });
  const wanted = measures.join(" ");
  useEffect(() => {
    const lines = compared.runs.reduce((sum, { outline }) => sum + outline.flows.length, 0);
    const sources = compared.runs.map(
      ({ id, outline }) => new KeptRun(id, [0, outline.duration_s], wanted.split(" "), pointsFor(lines)),
    );
    const fail = (error: unknown): void => {
      if (!(error instanceof DOMException)) setState((now) => ({ ...now, problem: problemOf(error) }));
    };
    Promise.all(sources.map((source) => source.open())).then(
      () => setState({ sources: new Map(sources.map((source) => [source.run, source])), problem: null }),
      fail,
    );
    const unsubscribe = span.onSettled(() => {
      for (const source of sources) void source.look(span.zoom).catch(fail);
    });
    return () => {
      unsubscribe();
      for (const source of sources) source.close();
    };
  }, [compared.runs, wanted, span]);
  return { span, ...state };
}

/** The latest experiments that can be compared: the id and the name of each. */
export function useExperiments(): [id: string, name: string][] {
  const { data } = useQuery({
    queryKey: ["experiments", "to compare"],
    queryFn: () => answered(api.GET("/api/v1/experiments", { params: { query: { limit: 50 } } })),
  });
  const own = data?.items.filter((one) => !one.rerun_of) ?? [];
  return own.map(({ id, name, created_at }) => [id, `${name}, ${ago(created_at)}`]);
}
