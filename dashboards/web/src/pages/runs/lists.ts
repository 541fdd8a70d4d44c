/** The two lists, page by page. While they are shown, statuses change in place, and new rows are only counted. */
import {
  type InfiniteData,
  type UseInfiniteQueryResult,
  useInfiniteQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useState } from "react";
import { answered, api } from "../../api/client";
import { type ExperimentRow, experimentsQuery, isLive, type RunRow, runsQuery, type View } from "../../data/runList";
import type { Status } from "../../parts/Badge";
import { type Change, useChanges } from "./live";
import { idsOfAll } from "./pickAll";

interface Page<R> {
  items: R[];
  next: string | null;
  total?: number | null;
}

export interface Listed<R> {
  rows: readonly R[];
  /** The number of matching rows on all pages; null while it is unknown. */
  total: number | null;
  asked: UseInfiniteQueryResult<InfiniteData<Page<R>>>;
  /** The number of new rows that the list does not show yet. */
  fresh: number;
  showFresh: () => void;
  /** Read the rows again after an action on them. */
  again: () => void;
  /** Identifies the filter and the order. */
  question: string;
  /** The ids of the first matching rows, loaded or not. */
  readIds: (most: number) => Promise<readonly string[]>;
}

// If more runs than this end at once, the others show only their status until the list is read again.
const MOST_READ = 12;

const BECOMES: Record<string, Status> = {
  "run.queued": "queued",
  "run.started": "running",
  "run.retried": "running",
};

export function useRuns(view: View): Listed<RunRow> {
  const question = useMemo(() => runsQuery(view), [view]);
  const key = useMemo(() => ["runs", question], [question]);
  const listed = useList<RunRow>(key, (more) =>
    answered(api.GET("/api/v1/runs", { params: { query: { ...question, ...more } } })),
  );
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

export function useExperiments(view: View): Listed<ExperimentRow> {
  const question = useMemo(() => experimentsQuery(view), [view]);
  const key = useMemo(() => ["experiments", question], [question]);
  const listed = useList<ExperimentRow>(key, (more) =>
    answered(api.GET("/api/v1/experiments", { params: { query: { ...question, ...more } } })),
  );
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
  cursor?: string;
  total?: boolean;
  limit?: number;
}

/** Parameters of the page after a cursor; the first page has none. */
function after(cursor: string): More {
  return cursor === "" ? {} : { cursor };
}

function statusOf(change: Change): Status | null {
  if (change.kind === "run.finished") return (change.data.status as Status | undefined) ?? null;
  return BECOMES[change.kind] ?? null;
}

function useList<R extends { id: string; href: string }>(
  key: readonly unknown[],
  read: (more: More) => Promise<Page<R>>,
) {
  const client = useQueryClient();
  const [unseen, setUnseen] = useState<ReadonlySet<string>>(new Set());
  const asked = useInfiniteQuery({
    queryKey: key,
    // The first page counts all matching rows.
    queryFn: ({ pageParam }) => read({ ...after(pageParam), ...(pageParam === "" && { total: true }) }),
    initialPageParam: "",
    getNextPageParam: (page) => page.next,
    // While another query is running, the last rows stay, so that nothing jumps.
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: "always",
    refetchOnWindowFocus: false,
  });
  const rows = useMemo(() => asked.data?.pages.flatMap((page) => page.items) ?? [], [asked.data]);
  const ids = useMemo(() => new Set(rows.map((row) => row.id)), [rows]);
  // Not the key itself: it is another object after every change of the address, including a selection.
  const question = JSON.stringify(key);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another query, another count
  useEffect(() => setUnseen(new Set()), [question]);
  const patch = useCallback(
    (change: (row: R) => R) =>
      client.setQueryData<InfiniteData<Page<R>>>(
        key,
        (known) =>
          known && { ...known, pages: known.pages.map((page) => ({ ...page, items: page.items.map(change) })) },
      ),
    [client, key],
  );
  const count = useCallback((found: readonly string[]) => {
    if (found.length > 0) setUnseen((now) => new Set([...now, ...found]));
  }, []);
  const { refetch } = asked;
  const again = useCallback(() => {
    setUnseen(new Set());
    void refetch();
  }, [refetch]);
  const total = asked.data?.pages[0]?.total ?? null;
  const isWhole = !asked.hasNextPage && !asked.isPlaceholderData;
  const readIds = (most: number): Promise<readonly string[]> =>
    isWhole
      ? Promise.resolve([...ids].slice(0, most))
      : idsOfAll((cursor, limit) => read({ ...after(cursor), limit }), most);
  return {
    rows, total, ids, asked, fresh: unseen.size, showFresh: again, again, question, readIds, patch, count,
  }; // biome-ignore format: one look
}
