/**
 * The state of a view, kept in the address: what is chosen, zoomed and sorted. A key at its default is left out.
 *
 *     const VIEW = { flows: list(), log: flag(), at: range(), measure: text("cwnd") };
 *     const [view, setView] = useViewState(VIEW);      view.flows: readonly string[]
 *     setView({ flows: ["app"], log: true });          `{ push: true }` where Back should undo it
 *
 * Define the keys outside the component.
 */
import { useCallback, useMemo } from "react";
import { type Codec, readView, type ViewOf, writeView } from "./codecs";
import { replaceQuery, useRoute } from "./route";

export * from "./codecs";

// biome-ignore lint/suspicious/noExplicitAny: each codec has its own type
export function useViewState<K extends Record<string, Codec<any>>>(
  keys: K,
): [ViewOf<K>, (change: Partial<ViewOf<K>>, options?: { push?: boolean }) => void] {
  const { query } = useRoute();
  const view = useMemo(() => readView(keys, query), [keys, query]);
  const change = useCallback(
    (changed: Partial<ViewOf<K>>, options: { push?: boolean } = {}) =>
      replaceQuery((now) => writeView(keys, changed, now), { replace: !options.push }),
    [keys],
  );
  return [view, change];
}
