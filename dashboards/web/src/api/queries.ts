/** One cache of responses for all pages, which is refreshed when the service or the session is back.
 * While the service is away, requests wait and known data stays visible; only the header reports it.
 */
import { MutationCache, onlineManager, QueryClient, queryOptions, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "./client";
import { connection, onReturn } from "./connection";
import { Problem } from "./problem";

const TRIES = 3;
const BUILD_POLL_MS = 1500;

declare module "@tanstack/react-query" {
  interface Register {
    /** The key of the data that a mutation changes, which is read again after it. */
    mutationMeta: { again: readonly unknown[] };
  }
}

export const queries = new QueryClient({
  mutationCache: new MutationCache({
    onSettled: (_, error, __, ___, { meta }, { client }) => {
      const read = meta && readAgain(meta.again, client);
      return error ? undefined : read;
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 2000,
      networkMode: "online",
      retry: (failures, error) =>
        error instanceof Problem && (error.status === 0 || (error.passing && failures < TRIES)),
      retryDelay: (failures, error) =>
        1000 * ((error instanceof Problem ? error.retryAfterS : null) ?? Math.min(8, 2 ** failures)),
    },
    mutations: { networkMode: "always" },
  },
});

/** Reads again the data that has changed on the service. The response to a first request that was already sent may be older
 * than the change, so that data is read once more.
 */
export async function readAgain(queryKey: readonly unknown[], client: QueryClient = queries): Promise<void> {
  const asked = client.getQueryCache().findAll({ queryKey, fetchStatus: "fetching" });
  const first = new Set(asked.filter(({ state }) => state.data === undefined));
  await client.invalidateQueries({ queryKey });
  if (first.size > 0) await client.invalidateQueries({ queryKey, predicate: (query) => first.has(query) });
}

onlineManager.setEventListener((setOnline) => connection.subscribe(() => setOnline(connection.get() === "connected")));
onReturn(() => void queries.invalidateQueries());

/** The catalogue of names that an experiment may use; it does not change while a service is running. */
export function useCatalogue() {
  return useQuery({
    queryKey: ["catalogue"],
    queryFn: () => answered(api.GET("/api/v1/catalogue")) as Promise<Record<string, unknown>>,
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The kernels of kernel.lock, and those with a name; while one is being built, the list follows its progress. */
export function useKernels() {
  return useQuery({
    queryKey: ["kernels"],
    queryFn: () => answered(api.GET("/api/v1/kernels")),
    refetchInterval: (query) => (query.state.data?.some(isBeingBuilt) ? BUILD_POLL_MS : false),
  });
}

function isBeingBuilt(kernel: Schemas["Kernel"]): boolean {
  return kernel.build?.status === "queued" || kernel.build?.status === "building" || isInBetween(kernel);
}

/** Whether an admin is just adding or deleting a kernel: it has no build. */
export function isInBetween({ origin, build, built }: Schemas["Kernel"]): boolean {
  return origin === "admin" && build === null && !built;
}

/** Whether experiments may name a kernel: of one whose build failed, only the error is left. */
export function isThere({ build }: Schemas["Kernel"]): boolean {
  return build?.status !== "failed";
}

/** The service: its version, its settings and its totals. */
export const service = queryOptions({ queryKey: ["about"], queryFn: () => answered(api.GET("/api/v1/about")) });

/** The sources of user-supplied modules, for admins. */
export const moduleSources = queryOptions({
  queryKey: ["module-sources"],
  queryFn: () => answered(api.GET("/api/v1/module-sources")),
});
