/** Verification of a run's files, and the repair of a damaged run. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { documentOf, type Run } from "../../data/runDocument";

export type Verification = Schemas["Verification"];
export type FileState = Verification["files"][string];
/** The name of a file, and its fault. */
export type BadFile = readonly [name: string, state: FileState];

export const MANIFEST = "manifest.json";

/** The run whose files a page shows: the run itself, or the original of an identical rerun. */
export function traceOf(run: Run): string {
  const again = documentOf(run).rerun;
  return again?.identical ? again.run : run.id;
}

/** Whether an error reports a damaged file. */
export function isDamage(error: unknown): boolean {
  return error != null && problemOf(error).kind === "run-damaged";
}

/** The damaged and missing files. */
export function badFiles(found: Pick<Verification, "files">): BadFile[] {
  return Object.entries(found.files).filter(([, state]) => state === "damaged" || state === "missing");
}

/** The command that repairs the run on the service's machine; null if its manifest is damaged, which describes the run. */
export function repairOf(run: string, bad: readonly BadFile[]): string | null {
  return bad.some(([name]) => name === MANIFEST) ? null : `longhaul verify ${run} --repair`;
}

/** The kept file from which a download is made. */
export function sourceOf(download: string): string {
  return download.replace(/\.csv$/, ".parquet");
}

/** Reads every file again, which may take a while: on known damage, or on demand. */
export function useVerification(run: string, wanted: boolean): UseQueryResult<Verification, Error> {
  return useQuery({
    queryKey: ["verification", run],
    queryFn: () => answered(api.GET("/api/v1/runs/{id}/verification", { params: { path: { id: run } } })),
    enabled: wanted,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
}
