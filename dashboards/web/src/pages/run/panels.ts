/** The charts of a run, and the lines in them: one table. */
import type { ChartLine } from "../../charts/Chart";
import type { Mark } from "../../charts/plot";
import { type Measure, QUANTITIES } from "../../charts/quantities";
import type { Samples, Window } from "../../charts/samples";
import type { Source } from "../../charts/source";
import { flowStyle, type PALETTE } from "../../palette";
import { colourOf } from "../../shell/theme";
import type { Outline } from "./document";

export interface PanelOf {
  measure: Measure;
  of: "flow" | "link";
  /** Drawn finely beside it. */
  beside?: Measure;
  /** Whether a logarithmic axis shows more. */
  log: boolean;
}

export const PANELS: readonly PanelOf[] = [
  { measure: "cwnd", of: "flow", beside: "ssthresh", log: true },
  { measure: "goodput", of: "flow", log: false },
  { measure: "rtt", of: "flow", log: true },
  { measure: "inflight", of: "flow", log: true },
  { measure: "queue", of: "link", log: false },
  { measure: "retransmits", of: "flow", log: false },
];

type Theme = keyof typeof PALETTE;

/** The lines of a panel, in the flows' own colours everywhere. */
export function linesOf(
  panel: PanelOf,
  outline: Outline,
  source: Source,
  shown: ReadonlySet<string>,
  theme: Theme,
  patterned: boolean,
): ChartLine[] {
  const all = panel.of === "flow" ? outline.flows : outline.links;
  const many = all.length > 12;
  return all.flatMap((one, place): ChartLine[] => {
    if (panel.of === "flow" && !shown.has(one.name)) return [];
    const style = flowStyle(place, theme, patterned);
    // A queue is nobody's.
    const colour = panel.of === "link" && place === 0 ? colourOf("--text-2") : style.colour;
    const line = (measure: Measure): ChartLine => ({
      key: `${measure} ${one.name}`,
      name: one.name,
      place,
      colour,
      dash: style.dash,
      width: many ? 1 : 1.5,
      samples: (window: Window): Samples => source.samples(measure, one.name, window),
    });
    const lines = [line(panel.measure)];
    if (panel.beside !== undefined && !many) {
      const beside = line(panel.beside);
      lines.unshift({
        ...beside,
        name: `${one.name}, ${QUANTITIES[panel.beside].name.toLowerCase()}`,
        dash: [2, 3],
        width: 1,
        silent: true,
      });
    }
    return lines;
  });
}

/** What happens during the run: flows that come and go, and what the schedule changes. */
export function marksOf(outline: Outline, shown: ReadonlySet<string>, theme: Theme): Mark[] {
  const place = new Map(outline.flows.map((flow, at) => [flow.name, at]));
  const last = outline.duration_s;
  return outline.moments
    .filter((moment) => moment.flow === null || (shown.has(moment.flow) && outline.flows.length <= 12))
    .filter((moment) => moment.flow === null || (moment.t_s > last * 0.004 && moment.t_s < last))
    .map((moment) => ({
      t: moment.t_s,
      text: moment.text,
      strong: moment.flow === null,
      colour: moment.flow === null ? null : flowStyle(place.get(moment.flow) ?? 0, theme).colour,
    }));
}

/** When the queue dropped something: wherever the count of drops rises. */
export function dropsOf(source: Source, link: string): (window: Window) => Float64Array {
  return (window) => {
    const { t, v } = source.samples("drops", link, window);
    const found = t.filter(
      (time, at) => at > 0 && (v[at] ?? 0) > (v[at - 1] ?? 0) && time >= window[0] && time <= window[1],
    );
    return found;
  };
}
