/** The shipped experiments: groups by question, small pictures and costs. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { answered, api, type Schemas } from "../api/client";

export type Gallery = Schemas["Gallery"];
export type Preset = Gallery["experiments"][number];

const galleryOf = queryOptions({
  queryKey: ["catalogue", "gallery"],
  queryFn: () => answered(api.GET("/api/v1/catalogue/gallery")) as Promise<Gallery>,
  staleTime: Number.POSITIVE_INFINITY,
});

export function useGallery() {
  return useQuery(galleryOf);
}
