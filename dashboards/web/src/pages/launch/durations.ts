/** Durations of an experiment's text in seconds and back, and round steps. */

const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  ms: 1e-3,
  s: 1,
  sec: 1,
  min: 60,
  h: 3600,
};
const WRITTEN = /^\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*([a-zµ]+)\s*$/i;

/** "40 ms" -> 0.04; null if it is not a duration. */
export function seconds(written: unknown): number | null {
  const match = typeof written === "string" ? WRITTEN.exec(written) : null;
  const unit = match && UNITS[match[2]?.toLowerCase() ?? ""];
  return match && unit ? Number(match[1]) * unit : null;
}

/** 12.5 -> "12.5 s", 0.04 -> "40 ms". */
export function written(value: number): string {
  if (value === 0) return "0 s";
  const [factor, unit] = value >= 1 ? [1, "s"] : value >= 1e-3 ? [1e3, "ms"] : [1e6, "us"];
  return `${Number((value * factor).toFixed(6))} ${unit}`;
}

/** The largest of 1, 2, 5 times a power of ten that does not exceed a length. */
export function step(length: number): number {
  if (!(length > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(length));
  const digit = length / power;
  return Number(((digit >= 5 ? 5 : digit >= 2 ? 2 : 1) * power).toPrecision(3));
}

/** Rounds to a whole number of steps. */
export function snapped(value: number, unit: number): number {
  return Number((Math.round(value / unit) * unit).toPrecision(9));
}

/** Ticks of an axis from 0 to a length, about as many as requested. */
export function ticks(length: number, about = 8): number[] {
  if (!(length > 0)) return [0];
  const unit = step(length / Math.max(1, about / 2));
  return Array.from({ length: Math.floor(length / unit + 1e-9) + 1 }, (_, place) => snapped(place * unit, unit));
}
