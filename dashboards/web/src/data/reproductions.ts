/** Results of figures in this lab, updated while their runs are running. */
import { useMutation, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../api/client";
import type { Tone } from "../parts/Badge";

export type Figure = Schemas["Figure"];
export type FigureRow = Schemas["FigureRow"];
export type PaperRow = Schemas["PaperRow"];
export type Claim = Schemas["Claim"];
export type Extent = "quick" | "full";
export type Verdict = Claim["verdict"];

const POLL_MS = 1500;

export const VERDICTS: readonly Verdict[] = ["agrees", "differs", "not checkable", "not run"];
export const TONES: Record<Verdict, Tone> = {
  agrees: "good",
  differs: "bad",
  "not checkable": "warn",
  "not run": "neutral",
};

export function usePapers() {
  return useQuery({
    queryKey: ["papers"],
    queryFn: () => answered(api.GET("/api/v1/reproductions")),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** All figures of a paper; requested only when `seen`, because the service checks each against the database. */
export function usePaper(paper: string, seen: boolean) {
  return useQuery({
    queryKey: ["papers", paper],
    queryFn: () => answered(api.GET("/api/v1/reproductions/{paper}", { params: { path: { paper } } })),
    enabled: seen,
    refetchInterval: (query) => (query.state.data?.some(isLive) ? POLL_MS : false),
  });
}

export function useFigure(paper: string, figure: string, extent: Extent | null) {
  return useQuery({
    queryKey: ["papers", paper, figure, extent],
    queryFn: () =>
      answered(
        api.GET("/api/v1/reproductions/{paper}/{figure}", {
          params: { path: { paper, figure }, query: extent === null ? {} : { extent } },
        }),
      ),
    refetchInterval: (query) => (query.state.data && isLive(query.state.data) ? POLL_MS : false),
  });
}

/** The charts of a figure from its kept runs; requested again when more runs are kept. */
export function usePictures(figure: Figure) {
  const { paper, figure: name, extent } = figure;
  const kept = figure[extent].kept;
  return useQuery({
    queryKey: ["pictures", paper, name, extent, kept],
    queryFn: () =>
      answered(
        api.GET("/api/v1/reproductions/{paper}/{figure}/pictures", {
          params: { path: { paper, figure: name }, query: { extent } },
        }),
      ),
    enabled: kept > 0,
    placeholderData: (before) => before,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Submit the runs that a figure needs. */
export function useReproduce(paper: string, figure: string) {
  return useMutation({
    mutationFn: (extent: Extent) =>
      answered(
        api.POST("/api/v1/reproductions/{paper}/{figure}", { params: { path: { paper, figure } }, body: { extent } }),
      ),
    meta: { again: ["papers", paper] },
  });
}

export function isLive(figure: Figure): boolean {
  return figure.quick.live > 0 || figure.full.live > 0;
}

export function countVerdicts(claims: readonly Claim[]): readonly (readonly [Verdict, number])[] {
  return VERDICTS.map(
    (verdict) => [verdict, claims.filter((claim) => claim.verdict === verdict).length] as const,
  ).filter(([, number]) => number > 0);
}
