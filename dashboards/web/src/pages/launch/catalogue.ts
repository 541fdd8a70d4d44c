/** Rows of the catalogue, the schema, and the backends, as this page needs them. */
import { queryOptions, type UseQueryResult, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../../api/client";
import { moduleSources, useCatalogue } from "../../api/queries";
import { useMay } from "../../api/session";
import type { Schema } from "./schema";

export interface Parameter {
  name: string;
  default: string;
  low: string;
  high: string;
  about: string;
  /** For a parameter of a congestion control: its unit, and whether it belongs to the module or to a flow. */
  unit?: string;
  of?: "module" | "flow";
}

export interface Names {
  topologies: readonly { topology: string; about: string; parameters: readonly Parameter[] }[];
  modules: readonly { cc: string; also: string; about: string; parameters: readonly Parameter[] }[];
  measures: readonly { measure: string; of: "flow" | "path" | "run" | "either"; in: string; formula: string }[];
  /** Sources of congestion controls that were sent here, which admins see. */
  sources: readonly { reference: string; controls: readonly string[] }[];
}

const NOTHING: Names = { topologies: [], modules: [], measures: [], sources: [] };

export function useNames(): Names {
  const { data } = useCatalogue();
  const sources = useQuery({ ...moduleSources, enabled: useMay("admin") }).data ?? [];
  return data === undefined ? NOTHING : { ...(data as unknown as Names), sources };
}

export const schemaOf = queryOptions({
  queryKey: ["catalogue", "schema"],
  queryFn: () => answered(api.GET("/api/v1/catalogue/schema")) as Promise<Schema>,
  staleTime: Number.POSITIVE_INFINITY,
});

export function useSchema(): Schema | null {
  return useQuery(schemaOf).data ?? null;
}

export type Place = Schemas["Place"];

/** Refreshed now and then, because missing pieces may have been installed. */
export function usePlaces(kernel: string | null): UseQueryResult<Place[], Error> {
  return useQuery({
    queryKey: ["catalogue", "places", kernel],
    queryFn: () => answered(api.GET("/api/v1/catalogue/places", { params: { query: kernel ? { kernel } : {} } })),
    staleTime: 60_000,
  });
}

export async function fileOf(name: string): Promise<string> {
  const asking = api.GET("/api/v1/catalogue/experiments/file", { params: { query: { name } }, parseAs: "text" });
  return (await answered(asking)) as unknown as string;
}

/** The row of a congestion control, by its name or an alias. */
export function controlOf(names: Names, cc: unknown): Names["modules"][number] | undefined {
  return names.modules.find((one) => one.cc === cc || one.also.split(", ").includes(String(cc)));
}
