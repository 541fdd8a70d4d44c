/** Lines of compared runs: a colour for each run, dashes for its flows; a single run has a colour for each flow. */
import type { Line } from "../../charts/line";
import type { Measure } from "../../charts/quantities";
import type { Samples, Window } from "../../charts/samples";
import { DASHES, flowStyle, type PALETTE } from "../../theme/palette";
import type { ComparedRun, ComparedSeries } from "./useCompared";

export const LINK_MEASURES: readonly Measure[] = ["queue", "queue_delay", "drops"];

export function linesOfRuns(
  runs: readonly ComparedRun[],
  { sources }: Pick<ComparedSeries, "sources">,
  measure: Measure,
  theme: keyof typeof PALETTE,
): Line[] {
  return runs.flatMap((one, place) => {
    const source = sources.get(one.id);
    if (source === undefined) return [];
    const parts = LINK_MEASURES.includes(measure) ? one.outline.links.slice(0, 1) : one.outline.flows;
    return parts.map((part, at): Line => {
      const own = runs.length === 1 ? at : place;
      return {
        key: `${one.id} ${part.name}`,
        name: parts.length === 1 ? one.name : runs.length === 1 ? part.name : `${one.name}: ${part.name}`,
        place: own,
        colour: flowStyle(own, theme).colour,
        dash: runs.length === 1 ? flowStyle(own, theme).dash : (DASHES[at % DASHES.length] ?? []),
        width: 1.4,
        samples: (window: Window): Samples => source.samples(measure, part.name, window),
      };
    });
  });
}
