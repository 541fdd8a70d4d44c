/** Requests of a sweep: its experiment, and its points with some measures. */
import { useQuery } from "@tanstack/react-query";
import { answered, api } from "../../api/client";
import { firstOf } from "../../data/measures";
import { wordOf } from "./sweep";

export function useExperiment(id: string) {
  return useQuery({
    queryKey: ["experiment", id],
    queryFn: () => answered(api.GET("/api/v1/experiments/{id}", { params: { path: { id } } })),
  });
}

/** The points with these measures; without any, with the one that is shown first. */
export function useSweep(id: string, of: readonly string[], version: string) {
  return useQuery({
    queryKey: ["point-values", id, of.join(), version],
    placeholderData: (before) => before,
    queryFn: async () => {
      const read = (wanted: readonly string[]) =>
        answered(
          api.GET("/api/v1/experiments/{id}/point-values", { params: { path: { id }, query: { of: [...wanted] } } }),
        );
      if (of.length > 0) return read(of);
      const found = await read(["utilisation"]);
      const first = firstOf(found.measures);
      return first === undefined ? found : read([wordOf(first)]);
    },
  });
}
