/** Changes in the lab while a list is shown: requested every two seconds, after the last known change, and only while the page is
 * in sight. The request costs the service next to nothing, so lists are not read again without a change.
 */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import { answered, api, type Schemas } from "../../api/client";
import { useLatest } from "../../hooks";

export type Change = Schemas["Change"];

const POLL_MS = 2000;

export function useChanges(onChanges: (changes: readonly Change[]) => void): void {
  const last = useRef<number | undefined>(undefined);
  const latest = useLatest(onChanges);
  const { data } = useQuery({
    queryKey: ["changes"],
    queryFn: () =>
      answered(
        api.GET("/api/v1/changes", { params: { query: last.current === undefined ? {} : { after: last.current } } }),
      ),
    refetchInterval: POLL_MS,
    staleTime: 0,
    gcTime: 0,
  });
  useEffect(() => {
    if (data === undefined) return;
    last.current = data.last;
    if (data.items.length > 0) latest.current(data.items);
  }, [data, latest]);
}
