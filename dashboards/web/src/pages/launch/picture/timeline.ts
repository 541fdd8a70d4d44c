/** The timeline of a run: the times of flows and changes, from the text alone, so that it follows every key. */

import { seconds } from "../durations";
import { flowEntries, textOf } from "../form/edit";
import type { Schema } from "../schema";
import { type Location, type Parsed, type Value, valueAt } from "../yamlText";

export interface Lane {
  position: number;
  name: string;
  what: string;
  startS: number;
  /** The end of the run, unless the flow has a stop. */
  stopS: number;
  stops: boolean;
  sized: boolean;
  /** The starts of its flows, if the entry has several. */
  starts: readonly number[];
}

export interface Moment {
  position: number;
  atS: number;
  what: string;
}

export interface TimeLine {
  lengthS: number;
  warmupS: number;
  lanes: readonly Lane[];
  moments: readonly Moment[];
}

const MOST_STARTS = 40;

export function timeLine(data: Parsed["data"], schema: Schema | null): TimeLine | null {
  const at = (...location: Location): Value | undefined => valueAt(data, location);
  const lengthS = seconds(at("duration"));
  if (lengthS === null || lengthS <= 0) return null;
  const lanes = flowEntries(data, schema).map(({ position, name, kind, cc, value }): Lane => {
    const own = (field: string): number | null => seconds(valueAt(value, [field]));
    const startS = Math.min(own("start") ?? 0, lengthS);
    const count = Number(valueAt(value, ["count"]) ?? 1) || 0;
    const spreadS = own("spread") ?? 0;
    const starts = Array.from({ length: Math.min(count, MOST_STARTS) }, (_, place) => startS + place * spreadS);
    return {
      position,
      name,
      what: [kind === "tcp" ? cc : kind.replace("_", "/"), count > 1 && `× ${count}`].filter(Boolean).join(" "),
      startS,
      stopS: Math.min(own("stop") ?? lengthS, lengthS),
      stops: own("stop") !== null,
      sized: valueAt(value, ["size"]) !== undefined,
      starts: spreadS > 0 ? starts.filter((one) => one <= lengthS) : [],
    };
  });
  return { lengthS, warmupS: seconds(at("warmup")) ?? 0, lanes, moments: momentsOf(at("schedule")) };
}

function momentsOf(schedule: Value | undefined): Moment[] {
  if (!Array.isArray(schedule)) return [];
  return schedule.flatMap((change: Value, position) => {
    const atS = seconds(valueAt(change, ["at"]));
    return atS === null ? [] : [{ position, atS, what: textOfChange(change) }];
  });
}

/** "bandwidth 20 Mbit/s; app: cc reno" */
function textOfChange(change: Value): string {
  const pairs = (value: Value | undefined): string =>
    typeof value === "object" && value !== null
      ? Object.entries(value)
          .map(([name, inner]) => `${name} ${typeof inner === "object" ? pairs(inner) : textOf(inner)}`)
          .join(", ")
      : textOf(value);
  const named = (value: Value | undefined): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).map(([name, inner]) => `${name}: ${pairs(inner)}`)
      : [];
  const path = valueAt(change, ["path"]);
  return [
    ...(path === undefined ? [] : [pairs(path)]),
    ...named(valueAt(change, ["links"])),
    ...named(valueAt(change, ["flows"])),
  ].join("; ");
}
