/** The charts of a run and their lines. */
import type { Line, Mark } from "../../charts/line";
import { type Measure, QUANTITIES } from "../../charts/quantities";
import type { Samples, Window } from "../../charts/samples";
import { risesOf, type SignKind } from "../../charts/signs";
import type { Source } from "../../charts/source";
import type { Outline } from "../../data/runDocument";
import { colourOf, flowStyle, type PALETTE } from "../../theme/palette";
import { count } from "../../units";

export interface PanelOf {
  measure: Measure;
  of: "flow" | "link";
  /** A second measure, drawn with thin lines. */
  companion?: Measure;
  /** Whether a logarithmic axis shows more. */
  log: boolean;
  /** The reference for its values. */
  reference?: "capacity" | "bdp" | "buffer" | "base";
  /** Why values may exceed the reference; they are cut off there. */
  clip?: string;
}

export const PANELS: readonly PanelOf[] = [
  { measure: "cwnd", of: "flow", companion: "ssthresh", log: true, reference: "bdp" },
  {
    measure: "goodput",
    of: "flow",
    log: false,
    reference: "capacity",
    clip: "data that waited behind a lost packet is delivered all at once",
  },
  { measure: "rtt", of: "flow", log: true, reference: "base" },
  { measure: "inflight", of: "flow", log: true, reference: "bdp" },
  { measure: "queue", of: "link", log: false, reference: "buffer" },
  { measure: "retransmits", of: "flow", log: false },
];

type Theme = keyof typeof PALETTE;

/** The lines of a panel, in the colours of their flows. */
export function linesOf(
  panel: PanelOf,
  outline: Outline,
  source: Source,
  shown: ReadonlySet<string>,
  theme: Theme,
  patterned: boolean,
): Line[] {
  const all = panel.of === "flow" ? outline.flows : outline.links;
  const many = all.length > 12;
  return all
    .flatMap((one, place): Line[] => {
      if (panel.of === "flow" && !shown.has(one.name)) return [];
      const style = flowStyle(place, theme, patterned);
      // A queue belongs to no flow.
      const colour = panel.of === "link" && place === 0 ? colourOf("--text-2") : style.colour;
      const line = (measure: Measure): Line => ({
        key: `${measure} ${one.name}`,
        name: one.name,
        place,
        colour,
        dash: style.dash,
        width: many ? 1 : 1.5,
        samples: (window: Window): Samples => source.samples(measure, one.name, window),
      });
      const lines = [line(panel.measure)];
      if (panel.companion !== undefined && !many) {
        const companion = line(panel.companion);
        lines.unshift({
          ...companion,
          name: `${one.name}, ${QUANTITIES[panel.companion].name.toLowerCase()}`,
          dash: [2, 3],
          width: 1,
          silent: true,
          sign: "threshold",
        });
      }
      return lines;
    })
    .concat(referencesOf(panel, outline));
}

/** The reference lines of a panel, from the first bottleneck, over the run. */
export function referencesOf({ reference }: PanelOf, outline: Outline): Line[] {
  const [link] = outline.links;
  if (reference === undefined || link === undefined) return [];
  const { bdp_packets: bdp, buffer_packets: buffer, rtt_ms, duration_s } = outline;
  // Of a recording, the mean rate counts for all but its capacity.
  const recorded = link.recorded && reference !== "capacity";
  const rates = recorded ? [{ t_s: 0, bps: link.rate_bps }] : (link.rates ?? []);
  // The name is drawn at the end of the line, so it states the last value.
  const last = link.recorded ? link.rate_bps : (rates.at(-1)?.bps ?? link.rate_bps);
  const line = (say: (value: number) => string, of: (bps: number) => number): Line => {
    const name = say(of(last));
    const ends = [...rates.slice(1).map(({ t_s }) => t_s), duration_s];
    const samples = {
      t: Float64Array.from(rates.flatMap(({ t_s }, at) => [t_s, ends[at] ?? duration_s])),
      v: Float64Array.from(rates.flatMap(({ bps }) => [of(bps), of(bps)])),
    };
    return {
      key: `reference ${name}`,
      name,
      place: 0,
      colour: colourOf("--text-3"),
      dash: [6, 4],
      width: 1,
      reference: true,
      sign: reference,
      samples: () => samples,
    };
  };
  const first = link.recorded ? link.rate_bps : (rates[0]?.bps ?? link.rate_bps);
  // A link of a script may have no known rate.
  if (first === 0 && reference !== "base") return [];
  const always = (value: number) => () => value;
  const own = (bps: number): number => bps;
  if (reference === "capacity" && link.recorded) {
    const capacity = line((bps) => `recorded capacity, mean ${QUANTITIES.goodput.say(bps)}`, own);
    return [{ ...capacity, colour: colourOf("--line-strong"), dash: [], area: true, sign: "recorded" }];
  }
  if (reference === "capacity") return [line((bps) => `capacity ${QUANTITIES.goodput.say(bps)}`, own)];
  if (reference === "base") return [line((ms) => `without queue ${QUANTITIES.rtt.say(ms)}`, always(rtt_ms))];
  if (reference === "buffer") {
    const { limit_packets: limit } = link;
    return limit > 0 ? [line((held) => `buffer ${count(held)}`, always(limit))] : [];
  }
  if (bdp === null || bdp === undefined) return [];
  const full = (bps: number): number => (bdp * bps) / first;
  const withBuffer = (bps: number): number => full(bps) + (buffer ?? 0);
  const found = [line((held) => `BDP ${count(Math.round(held))}`, full)];
  if (buffer) found.push(line((held) => `BDP + buffer ${count(Math.round(held))}`, withBuffer));
  return found;
}

/** Times that measures leave out: the warmup, and the time after the window. */
export function shadedOf(outline: Outline): Window[] {
  const [begin = 0, end = outline.duration_s] = outline.window_s;
  const excluded: Window[] = [
    [0, begin],
    [Math.min(end, outline.partial_s ?? end), outline.duration_s],
  ];
  return excluded.filter(([from, to]) => to > from);
}

/** The look of a mark that belongs to no flow. */
const PATH = { strong: true, place: null, colour: null } as const;

/** Marks of the run: flows that start and stop, and scheduled changes. */
export function marksOf(outline: Outline, shown: ReadonlySet<string>, theme: Theme): Mark[] {
  const place = new Map(outline.flows.map((flow, at) => [flow.name, at]));
  const last = outline.duration_s;
  return outline.moments
    .filter((moment) => moment.flow === null || (shown.has(moment.flow) && outline.flows.length <= 12))
    .filter((moment) => moment.flow === null || (moment.t_s > last * 0.004 && moment.t_s < last))
    .map(
      (moment): Mark => ({
        t: moment.t_s,
        text: moment.text,
        strong: moment.flow === null,
        place: moment.flow === null ? null : (place.get(moment.flow) ?? 0),
        colour: moment.flow === null ? null : flowStyle(place.get(moment.flow) ?? 0, theme).colour,
        sign: moment.flow === null ? "change" : "flow",
      }),
    )
    .concat(outline.partial_s == null ? [] : [{ t: outline.partial_s, text: "cancelled here", ...PATH, sign: "end" }]);
}

/** The sign of the times that measures leave out. */
export function shadeOf(outline: Outline): SignKind {
  return outline.partial_s == null ? "excluded" : "unsimulated";
}

/** Times at which the queue dropped packets: where the count of drops rises. */
export function dropsOf(source: Source, link: string): (window: Window) => Float64Array {
  return (window) => risesOf(source.samples("drops", link, window), window);
}
