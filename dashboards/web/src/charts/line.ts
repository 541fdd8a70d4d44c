/** What a chart draws: lines over time, and moments. */
import type { Referring } from "./range";
import type { Samples, Window } from "./samples";
import type { SignKind } from "./signs";

export interface Line extends Referring {
  key: string;
  name: string;
  /** Its position among the lines; files use the colours of the light theme. */
  place: number;
  colour: string;
  dash: readonly number[];
  width: number;
  /** Whether what is below it is shaded lightly in its colour. */
  area?: boolean;
  /** A companion of another line: without values of its own in the legend. */
  silent?: boolean;
  /** The sign that the key of the charts explains; none for a flow, which the legend names. */
  sign?: SignKind;
  samples: (window: Window) => Samples;
}

/** A moment, as a vertical line; `strong` ones have longer dashes. */
export interface Mark {
  t: number;
  /** The position of its flow; null for the path. */
  place: number | null;
  colour: string | null;
  text: string;
  strong: boolean;
  sign: SignKind;
}

/** The lines with values of their own: those of flows and links. */
export function valued<L extends Line>(lines: readonly L[]): L[] {
  return lines.filter((line) => !line.silent && !line.reference);
}
