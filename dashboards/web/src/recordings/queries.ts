/** Recordings of links: requests, and what an experiment says of one. */
import { queryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { answered, api, bodyOf, type Schemas } from "../api/client";

export type Recording = Schemas["RecordingRow"];
export type Shown = Schemas["RecordingShown"];
export type Model = Schemas["RecordingModel"];
export type Format = NonNullable<Shown["format"]>;
type Asked = Schemas["ModelAsked"];

/** How a file is read; fields that its name and its first line say are left out. */
export interface Reading {
  format?: Format;
  step?: string;
  time?: string;
  rate?: string;
  delay?: string;
  loss?: string;
}

/** What is shown: a kept file, or what a model makes. */
export type Wanted = { reference: string; reading: Reading } | { model: Model["model"]; asked: Asked };

export const FORMATS: readonly Format[] = ["mahimahi", "table", "losses"];

export const recordings = queryOptions({
  queryKey: ["recordings"],
  queryFn: () => answered(api.GET("/api/v1/recordings")),
});

export const models = queryOptions({
  queryKey: ["recording-models"],
  queryFn: () => answered(api.GET("/api/v1/recording-models")),
  staleTime: Number.POSITIVE_INFINITY,
});

/** A recording in numbers, with its first hour to draw. */
export function useShown(wanted: Wanted | null): UseQueryResult<Shown, Error> {
  return useQuery({
    queryKey: ["recording", wanted],
    queryFn: () => show(wanted as Wanted),
    enabled: wanted !== null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
  });
}

function show(wanted: Wanted): Promise<Shown> {
  if ("model" in wanted) {
    const path = { model: wanted.model };
    return answered(api.POST("/api/v1/recording-models/{model}", { params: { path }, body: wanted.asked }));
  }
  const path = { sha256: wanted.reference.replace("sha256:", "") };
  return answered(api.GET("/api/v1/recordings/{sha256}", { params: { path, query: wanted.reading } }));
}

export function send(file: File, reading: Reading): Promise<Schemas["KeptRecording"]> {
  return answered(
    api.POST("/api/v1/recordings", { params: { query: { name: fileName(file.name), ...reading } }, ...bodyOf(file) }),
  );
}

/** The name of a file as the service takes it. */
export function fileName(name: string): string {
  return (
    name
      .replace(/[^A-Za-z0-9._+@ -]/g, "_")
      .slice(-120)
      .replace(/^[._+@ -]+/, "") || "recording"
  );
}

/** The format that the name of a file says. */
export function formatOf(name: string): Format {
  return /\.(csv|parquet)$/.test(name) ? "table" : "mahimahi";
}
