/** Values for a sweep between two values: in even steps, or in even ratios for what spans orders of magnitude. */
import { UNITS } from "../quantities";
import type { Schema } from "../schema";
import type { Value } from "../yamlText";

export type Scale = "linear" | "log";

export interface Range {
  from: number;
  to: number;
  count: number;
  scale: Scale;
  unit: string;
}

export const MOST_VALUES = 100;
const WRITTEN = /^\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*([^\s0-9].*)?$/;

/** Why a range gives no values; null if it does. */
export function objection({ from, to, count, scale }: Range): string | null {
  if (![from, to, count].every(Number.isFinite)) return "From, to and the number of values are numbers.";
  if (from < 0 || to < 0) return "A value is not negative.";
  if (from === to) return "From and to differ.";
  if (count < 2 || count > MOST_VALUES || !Number.isInteger(count))
    return `From 2 to ${MOST_VALUES} values are possible.`;
  if (scale === "log" && (from === 0 || to === 0)) return "Logarithmic steps begin and end above 0.";
  return null;
}

/** The values of a range, without those that rounding makes equal. */
export function generated(range: Range, whole: boolean): Value[] {
  if (objection(range) !== null) return [];
  const { from, to, count, scale, unit } = range;
  const numbers = Array.from({ length: count }, (_, place) => {
    if (place === 0) return from;
    if (place === count - 1) return to;
    const part = place / (count - 1);
    const exact = scale === "log" ? from * (to / from) ** part : from + (to - from) * part;
    return whole || unit === "packets" ? Math.round(exact) : Number(exact.toPrecision(scale === "log" ? 3 : 4));
  });
  return [...new Set(numbers)].map((number) => (unit === "" ? number : `${decimal(number)} ${unit}`));
}

/** Quantities are written without an exponent. */
function decimal(number: number): string {
  return number !== 0 && Math.abs(number) < 1e-6 ? number.toExponential() : String(number);
}

/** The units that the values of a field may have; none for a number; null if the field has no numbers. */
export function unitsOf(schema: Schema | null): readonly string[] | null {
  const quantity = schema?.["x-quantity"];
  if (quantity === "share") return ["%", ""];
  if (quantity !== undefined) return UNITS[quantity] ?? (quantity === "parameter" ? [""] : null);
  return isWhole(schema) || hasType(schema, "number") ? [""] : null;
}

export function isWhole(schema: Schema | null): boolean {
  return hasType(schema, "integer") && schema?.enum === undefined && schema?.pattern === undefined;
}

function hasType(schema: Schema | null, type: string): boolean {
  return schema?.type === type || (Array.isArray(schema?.type) && schema.type.includes(type));
}

/** The range between the first and the last of the present values; from one value up to ten times as much. */
export function rangeBetween(values: readonly string[], units: readonly string[]): Range {
  const [low, high] = [WRITTEN.exec(values[0] ?? ""), WRITTEN.exec(values.at(-1) ?? "")];
  const written = low?.[2]?.trim() ?? "";
  const unit = units.includes(written) ? written : (units[0] ?? "");
  const from = low ? Number(low[1]) : 1;
  const last = high && (high[2]?.trim() ?? "") === written ? Number(high[1]) : from;
  return { from, to: last === from ? from * 10 || 10 : last, count: 5, scale: "linear", unit };
}
