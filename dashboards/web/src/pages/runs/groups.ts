/** The experiments of the grouped list, and the runs of those that are open. */
import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { useMemo } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { type RunRow, runsQuery, type View } from "../../data/runList";
import { useThrottled } from "./window";

export type Group = Schemas["RunGroup"];

/** A row of the grouped list. */
export type Line = { id: string } & (
  | { kind: "group"; group: Group; isOpen: boolean }
  | { kind: "run"; row: RunRow }
  | { kind: "rest"; group: Group }
);

/** The runs that an open group lists. */
export const MOST_OF_GROUP = 20;
const PAGE = 200;
/** Groups are read again at most this often while runs are running. */
const PAUSE_MS = 5000;

/** The results that groups are sorted by. */
const SORTED = ["name", "runs", "goodput", "rtt", "loss", "utilisation", "jain"];

/** The order of groups: the list's own, if groups have it. */
export function groupOrder(sort: string): string {
  const known = sort === "oldest" || SORTED.includes(sort.replace(/^-/, ""));
  return known ? sort : "newest";
}

/** The lines of groups, each open one with its first runs below. */
export function linesOf(
  groups: readonly Group[],
  open: readonly string[],
  runsOf: (experiment: string) => readonly RunRow[],
): Line[] {
  return groups.flatMap((group): Line[] => {
    const isOpen = open.includes(group.experiment);
    const head: Line = { kind: "group", id: `group ${group.experiment}`, group, isOpen };
    if (!isOpen) return [head];
    const runs = runsOf(group.experiment);
    const lines = [head, ...runs.map((row): Line => ({ kind: "run", id: row.id, row }))];
    if (runs.length > 0 && runs.length < group.runs) {
      lines.push({ kind: "rest", id: `rest ${group.experiment}`, group });
    }
    return lines;
  });
}

/** `changed` is the time of the last change of the runs. */
export function useGroups(view: View, changed: number) {
  const { limit: _, ...filter } = useMemo(() => runsQuery(view), [view]);
  const at = useThrottled(changed, PAUSE_MS);
  const query = { ...filter, sort: groupOrder(view.sort), limit: PAGE };
  const found = useInfiniteQuery({
    queryKey: ["run-groups", query, at],
    queryFn: ({ pageParam }) =>
      answered(api.GET("/api/v1/run-groups", { params: { query: { ...query, skip: pageParam } } })),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => {
      const shown = pages.reduce((sum, { items }) => sum + items.length, 0);
      return last.items.length > 0 && shown < last.total ? shown : undefined;
    },
    placeholderData: (before) => before,
  });
  const { opened } = view;
  const runs = useQueries({
    queries: opened.map((experiment) => {
      const question = { ...filter, experiment, limit: MOST_OF_GROUP };
      return {
        queryKey: ["run-groups", "runs", question, at],
        queryFn: () => answered(api.GET("/api/v1/runs", { params: { query: question } })),
        placeholderData: (before: Schemas["Runs"] | undefined) => before,
      };
    }),
    combine: (results) => ({
      items: results.map(({ data }) => data?.items ?? []),
      error: results.find(({ error }) => error !== null)?.error ?? null,
    }),
  });
  const pages = found.data?.pages;
  const lines = useMemo(() => {
    const groups = (pages ?? []).flatMap(({ items }) => items);
    return linesOf(groups, opened, (name) => runs.items[opened.indexOf(name)] ?? []);
  }, [pages, opened, runs.items]);
  return { found, lines, total: pages?.[0]?.total ?? 0, failure: found.error ?? runs.error };
}
