/** The two lists. Only the pages with rows in sight are requested: a page begins at the cursor of the page before, or a number of rows
 * after the first page. While a list is shown, statuses change in place, and new rows are only counted.
 */
import { type UseQueryResult, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { answered, api } from "../../api/client";
import {
  type ExperimentRow,
  experimentsQuery,
  isLive,
  PAGE,
  type RunRow,
  runsQuery,
  type View,
} from "../../data/runList";
import type { Status } from "../../parts/Badge";
import { type Change, useChanges } from "./live";
import { idsOfAll } from "./pickAll";
import type { Range } from "./window";

interface Page<R> {
  items: R[];
  next: string | null;
  total?: number | null;
}

export interface Listed<R> {
  /** The rows that are loaded and near the sight. */
  rows: readonly R[];
  /** The row at a place of the list; undefined before it is loaded. */
  rowAt: (index: number) => R | undefined;
  /** The number of matching rows. */
  total: number;
  /** The first page. */
  asked: UseQueryResult<Page<R>>;
  /** An error of a page further down. */
  failure: Error | null;
  /** The number of new rows that the list does not show yet. */
  fresh: number;
  showFresh: () => void;
  /** Read the rows again after an action on them. */
  again: () => void;
  /** Identifies the filter and the order. */
  question: string;
  /** A time after which no matching row was made: those that come later are not meant by all. */
  readUntil: () => Promise<string>;
  /** The ids of the first matching rows, loaded or not. */
  readIds: (most: number) => Promise<readonly string[]>;
}

// If more runs than this end at once, the others show only their status until the list is read again.
const MOST_READ = 12;

const BECOMES: Record<string, Status> = { "run.queued": "queued", "run.started": "running", "run.retried": "running" };

export function useRuns(view: View, range: Range): Listed<RunRow> {
  const question = useMemo(() => runsQuery(view), [view]);
  const key = useMemo(() => ["runs", question], [question]);
  const read = (more: More) => answered(api.GET("/api/v1/runs", { params: { query: { ...question, ...more } } }));
  const listed = useList<RunRow>(key, range, read);
  const { patch, ids, count } = listed;
  useChanges((changes) => {
    const statuses = new Map<string, Status>();
    for (const change of changes) {
      if (change.run === null) continue;
      const status = statusOf(change);
      if (status !== null) statuses.set(change.run, status);
    }
    count(changes.flatMap(({ kind, run }) => (kind === "run.queued" && run !== null && !ids.has(run) ? [run] : [])));
    const mine = [...statuses].filter(([run]) => ids.has(run));
    patch((row) => (statuses.has(row.id) ? { ...row, status: statuses.get(row.id) ?? row.status } : row));
    const ended = mine.filter(([, status]) => !isLive({ status }));
    for (const [id] of [...ended, ...mine.filter(([, status]) => status === "running")].slice(0, MOST_READ)) {
      answered(api.GET("/api/v1/runs/{id}", { params: { path: { id } } })).then(
        ({ document: _, links: __, ...fresh }) => patch((row) => (row.id === id ? fresh : row)),
        () => undefined,
      );
    }
  });
  return listed;
}

export function useExperiments(view: View, range: Range): Listed<ExperimentRow> {
  const question = useMemo(() => experimentsQuery(view), [view]);
  const key = useMemo(() => ["experiments", question], [question]);
  const read = (more: More) =>
    answered(api.GET("/api/v1/experiments", { params: { query: { ...question, ...more } } }));
  const listed = useList<ExperimentRow>(key, range, read);
  const { patch, ids, count, rows } = listed;
  useChanges((changes) => {
    const named = new Set(changes.flatMap((change) => change.experiment ?? []));
    count(
      changes
        .flatMap(({ kind, experiment }) => (kind === "experiment.queued" && experiment !== null ? [experiment] : []))
        .filter((one) => !ids.has(one)),
    );
    // An event of a run does not name its experiments, so every running experiment may have changed.
    const live = rows.filter(isLive).map((row) => row.id);
    for (const id of [...new Set([...named, ...live])].filter((one) => ids.has(one)).slice(0, MOST_READ)) {
      answered(api.GET("/api/v1/experiments/{id}", { params: { path: { id } } })).then(
        ({ spec: _, lint: __, asked: ___, runs: ____, links: _____, ...fresh }) =>
          patch((row) => (row.id === id ? fresh : row)),
        () => undefined,
      );
    }
  });
  return listed;
}

interface More {
  sort?: "newest";
  cursor?: string;
  skip?: number;
  total?: boolean;
  limit?: number;
}

function statusOf(change: Change): Status | null {
  if (change.kind === "run.finished") return (change.data.status as Status | undefined) ?? null;
  return BECOMES[change.kind] ?? null;
}

/** The pages with these rows, but the first one. */
export function pagesOf({ from, to }: Range): number[] {
  const first = Math.max(1, Math.floor(from / PAGE));
  return Array.from({ length: Math.max(0, Math.ceil(to / PAGE) - first) }, (_, at) => first + at);
}

function useList<R extends { id: string; href: string; created_at: string }>(
  key: readonly unknown[],
  range: Range,
  read: (more: More) => Promise<Page<R>>,
) {
  const client = useQueryClient();
  const [unseen, setUnseen] = useState<ReadonlySet<string>>(new Set());
  const asked = useQuery({
    queryKey: [...key, "first"],
    // The first page counts all matching rows.
    queryFn: () => read({ total: true }),
    // While another query is running, the last rows stay, so that nothing jumps.
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: "always",
    refetchOnWindowFocus: false,
  });
  const first = asked.data;
  const anchor = asked.isPlaceholderData ? null : (first?.next ?? null);
  const numbers = pagesOf(range);
  // Pages begin after the first one: with another first page they are others.
  const pageKey = (page: number): readonly unknown[] => [...key, "page", anchor, page];
  const placeOf = (page: number, from: string): More => {
    const before = page === 1 ? from : client.getQueryData<Page<R>>(pageKey(page - 1))?.next;
    return before ? { cursor: before } : { cursor: from, skip: (page - 1) * PAGE };
  };
  const pages = useQueries({
    queries: numbers.map((page) => ({
      queryKey: pageKey(page),
      queryFn: () => read(placeOf(page, anchor ?? "")),
      enabled: anchor !== null,
      staleTime: Number.POSITIVE_INFINITY,
      refetchOnWindowFocus: false,
    })),
  });
  const loaded = new Map<number, readonly R[]>([[0, first?.items ?? []]]);
  for (const [at, page] of numbers.entries()) loaded.set(page, pages[at]?.data?.items ?? []);
  const rows = [...loaded.values()].flat();
  const ids = new Set(rows.map((row) => row.id));
  // Not the key itself: it is another object after every change of the address, including a selection.
  const question = JSON.stringify(key);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query, another count
  useEffect(() => setUnseen(new Set()), [question]);
  const patch = useCallback(
    (change: (row: R) => R) =>
      client.setQueriesData<Page<R>>(
        { queryKey: key },
        (known) => known && { ...known, items: known.items.map(change) },
      ),
    [client, key],
  );
  const count = useCallback((found: readonly string[]) => {
    if (found.length > 0) setUnseen((now) => new Set([...now, ...found]));
  }, []);
  const { refetch } = asked;
  const again = useCallback(() => {
    setUnseen(new Set());
    void refetch().then(() => client.invalidateQueries({ queryKey: [...key, "page"] }));
  }, [refetch, client, key]);
  const readIds = (most: number): Promise<readonly string[]> =>
    first !== undefined && first.next === null && !asked.isPlaceholderData
      ? Promise.resolve(first.items.map((row) => row.id).slice(0, most))
      : idsOfAll((cursor, limit) => read({ ...(cursor !== "" && { cursor }), limit }), most);
  const readUntil = async (): Promise<string> => {
    const { items } = await read({ sort: "newest", limit: 1 });
    return new Date(Date.parse(items[0]?.created_at ?? "") + 1 || 0).toISOString();
  };
  return {
    readUntil, rows, ids, asked, again, question, readIds, patch, count,
    total: first?.total ?? first?.items.length ?? 0,
    rowAt: (index: number): R | undefined => loaded.get(Math.floor(index / PAGE))?.[index % PAGE],
    failure: pages.find((page) => page.error !== null)?.error ?? null,
    fresh: unseen.size, showFresh: again,
  }; // biome-ignore format: one look
}
