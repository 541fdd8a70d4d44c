/** Requests for the bands of points. */
import { useQueries } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { type Measure, QUANTITIES } from "../../charts/quantities";

export const OF_FLOWS: readonly Measure[] = ["goodput", "cwnd", "rtt", "inflight", "retransmits"];
export const SERIES: readonly Measure[] = [...OF_FLOWS, "queue", "queue_delay"];
export const quantityOf = (series: Measure) => QUANTITIES[series];

/** The bands of points by one run of each. */
export function useBands(
  experiment: string,
  runs: readonly string[],
  series: Measure,
  flow: string,
  points: number,
  version: string,
) {
  return useQueries({
    queries: runs.map((run) => ({
      queryKey: ["bands", experiment, run, series, flow, points, version],
      staleTime: Number.POSITIVE_INFINITY,
      queryFn: () =>
        answered(
          api.GET("/api/v1/experiments/{id}/bands", {
            params: {
              path: { id: experiment },
              query: { measure: series, run, points, ...(OF_FLOWS.includes(series) ? { flow } : {}) },
            },
          }),
        ),
    })),
    combine: (results) => ({
      bands: results.map(({ data }) => data ?? null),
      error: results.find(({ error }) => error)?.error ?? null,
      pending: results.some(({ isPending }) => isPending),
    }),
  });
}
