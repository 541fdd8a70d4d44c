/** What the service sends to explore a run, reduced to the window of the charts. */
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { answered, api } from "../../../api/client";
import type { Window } from "../../../charts/samples";

interface Part {
  from?: number;
  to?: number;
}

/** The query of a window; none for the whole run. */
export function partOf(shown: Window, whole: Window): Part {
  if (shown[0] <= whole[0] && shown[1] >= whole[1]) return {};
  return { from: Math.max(0, shown[0]), to: Math.max(0, shown[1]) };
}

const KEPT = { staleTime: Number.POSITIVE_INFINITY, placeholderData: keepPreviousData } as const;
const POINTS = 2000;
const PAIRS = 4000;
const POLL_MS = 1500;

export function usePhase(run: string, flow: string, x: string, y: string, part: Part) {
  return useQuery({
    queryKey: ["phase", run, flow, x, y, part],
    queryFn: () =>
      answered(
        api.GET("/api/v1/runs/{id}/phase", {
          params: { path: { id: run }, query: { flow, x, y, points: PAIRS, ...part } },
        }),
      ),
    ...KEPT,
  });
}

export function useOccupancy(run: string, link: string, part: Part) {
  return useQuery({
    queryKey: ["occupancy", run, link, part],
    queryFn: () =>
      answered(api.GET("/api/v1/runs/{id}/occupancy", { params: { path: { id: run }, query: { link, ...part } } })),
    ...KEPT,
  });
}

export function useStates(run: string, flow: string, part: Part) {
  return useQuery({
    queryKey: ["states", run, flow, part],
    queryFn: () =>
      answered(api.GET("/api/v1/runs/{id}/states", { params: { path: { id: run }, query: { flow, ...part } } })),
    ...KEPT,
  });
}

/** `awaited`: the run is running again for its packets. */
export function useSequence(run: string, flow: string, packets: boolean, part: Part, awaited: boolean) {
  return useQuery({
    queryKey: ["sequence", run, flow, packets, part],
    queryFn: () =>
      answered(
        api.GET("/api/v1/runs/{id}/sequence", {
          params: { path: { id: run }, query: { flow, packets, points: POINTS, ...part } },
        }),
      ),
    // Packets may be captured meanwhile.
    ...KEPT,
    staleTime: 5000,
    refetchInterval: (query) => (awaited && query.state.data?.captured === false ? POLL_MS : false),
  });
}
