/** Whether the files of a run are those that were kept: what is known of it, and how a damaged run is made again. */
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { problemOf } from "../../api/problem";
import { documentOf, type Run } from "../../data/runDocument";

export type Verification = Schemas["Verification"];
export type FileState = Verification["files"][string];
/** The name of a file, and what is wrong with it. */
export type BadFile = readonly [name: string, state: FileState];

export const MANIFEST = "manifest.json";

/** The run whose files a run shows: its own, or those of the run that it repeats to the byte. */
export function traceOf(run: Run): string {
  const again = documentOf(run).rerun;
  return again?.identical ? again.run : run.id;
}

/** Whether an answer says that a file is not what was kept. */
export function isDamage(error: unknown): boolean {
  return error != null && problemOf(error).kind === "run-damaged";
}

/** The files that are not what was kept. */
export function badFiles(found: Pick<Verification, "files">): BadFile[] {
  return Object.entries(found.files).filter(([, state]) => state === "damaged" || state === "missing");
}

/** What makes the run again where the service runs; null where its manifest is damaged, which alone says what the run was. */
export function repairOf(run: string, bad: readonly BadFile[]): string | null {
  return bad.some(([name]) => name === MANIFEST) ? null : `longhaul verify ${run} --repair`;
}

/** The file of those that are kept which a download is, or is made of. */
export function sourceOf(download: string): string {
  return download.replace(/\.csv$/, ".parquet");
}

/** Every file read anew, which may take a while: asked for where damage is known, or by a press. */
export function useVerification(run: string, wanted: boolean): UseQueryResult<Verification, Error> {
  return useQuery({
    queryKey: ["verification", run],
    queryFn: () => answered(api.GET("/api/v1/runs/{id}/verification", { params: { path: { id: run } } })),
    enabled: wanted,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
  });
}
