/** Numbers in networking units, one formatter per quantity: 622 Mbit/s, 300 ms, 1 BDP, 15,550 packets. Rates and sizes use powers
 * of 1000. Measured values have four digits; `null` and NaN become a dash.
 */

export const NONE = "–";

type Units = readonly (readonly [factor: number, name: string])[];

const RATES: Units = [
  [1e9, "Gbit/s"],
  [1e6, "Mbit/s"],
  [1e3, "kbit/s"],
  [1, "bit/s"],
];
const DURATIONS: Units = [
  [1, "s"],
  [1e-3, "ms"],
  [1e-6, "µs"],
];
const SIZES: Units = [
  [1e12, "TB"],
  [1e12, "TB"],
  [1e9, "GB"],
  [1e6, "MB"],
  [1e3, "KB"],
  [1, "B"],
];

type Value = number | null | undefined;

/** 622080000 -> "622.1 Mbit/s"; in the unit of `like`, so that numbers beside each other can be compared. */
export function rate(bps: Value, like: Value = bps): string {
  return scaled(bps, RATES, like);
}

/** 0.04 -> "40 ms"; for times on the scale of a path. */
export function duration(seconds: Value, like: Value = seconds): string {
  return scaled(seconds, DURATIONS, like);
}

/** 23325000 -> "23.32 MB" */
export function size(bytes: Value, like: Value = bytes): string {
  return scaled(bytes, SIZES, like);
}

/** 15550 -> "15,550 packets" */
export function packets(count: Value): string {
  return isNumber(count) ? `${digits(count)} ${count === 1 ? "packet" : "packets"}` : NONE;
}

/** 0.5 -> "0.5 BDP" */
export function bdp(multiple: Value): string {
  return isNumber(multiple) ? `${digits(multiple)} BDP` : NONE;
}

/** 0.954 -> "95.4 %", 1e-5 -> "1e-5": shares of lost packets are small. */
export function share(part: Value): string {
  if (!isNumber(part)) return NONE;
  return part !== 0 && Math.abs(part) < 1e-3 ? part.toExponential(2).replace(/\.?0+e/, "e") : `${digits(part * 100)} %`;
}

/** A measured share, 0.000728 -> "0.0728 %": all numbers of a column have one form, so that they can be compared. */
export function percent(part: Value): string {
  return isNumber(part) ? `${digits(part * 100)} %` : NONE;
}

const NUMBER = /^[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,2})?$/i;

/** A number as people read it, in one spelling: "1e-05" and "0.00001" -> "1e-5", "1e-3" -> "0.001"; other texts stay. */
export function spellNumber(text: string): string {
  const match = NUMBER.exec(text);
  const value = Number(text);
  if (match === null || value === 0) return text;
  if (value < 1e-3) return value.toExponential();
  return match[2] !== undefined && value < 1e15 ? String(value) : text;
}

/** A number without a unit: Jain's index, a coefficient. */
export function plain(value: Value): string {
  return isNumber(value) ? digits(value) : NONE;
}

/** 12345 -> "12,345" */
export function count(whole: Value): string {
  return isNumber(whole) ? Math.round(whole).toLocaleString("en") : NONE;
}

const WAITS: Units = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
  [1, "s"],
];

/** A real time that a user waits: 3.2 -> "3.2 s", 95 -> "1 min 35 s", 7300 -> "2 h 2 min". */
export function wait(seconds: Value): string {
  if (!isNumber(seconds)) return NONE;
  if (seconds < 60) return seconds < 1 ? duration(seconds) : `${digits(seconds, 2)} s`;
  let left = Math.round(seconds);
  const first = WAITS.findIndex(([factor]) => left >= factor);
  const parts = WAITS.slice(first, first + 2).map(([factor, unit]) => {
    const value = Math.floor(left / factor);
    left -= value * factor;
    return value > 0 ? `${value} ${unit}` : "";
  });
  return parts.filter(Boolean).join(" ");
}

/** The time since then: "just now", "4 min ago", "3 d ago". */
export function ago(at: string | null | undefined, nowMs = Date.now()): string {
  const seconds = at ? (nowMs - Date.parse(at)) / 1000 : Number.NaN;
  if (!Number.isFinite(seconds)) return NONE;
  if (seconds < 45) return "just now";
  const [value, unit] =
    seconds < 3570 ? [seconds / 60, "min"] : seconds < 84_600 ? [seconds / 3600, "h"] : [seconds / 86_400, "d"];
  return `${Math.round(value)} ${unit} ago`;
}

/** A moment in the browser's time zone: "2031-05-17 09:00:12 UTC+2". */
export function moment(at: string | null | undefined): string {
  const date = at ? new Date(at) : null;
  if (date === null || Number.isNaN(date.getTime())) return NONE;
  // Swedes write the year first.
  return `${date.toLocaleString("sv")} ${zone(-date.getTimezoneOffset())}`;
}

/** A time zone by its minutes ahead of UTC: 330 -> "UTC+5:30". */
export function zone(minutes: number): string {
  if (minutes === 0) return "UTC";
  const [hours, rest] = [Math.trunc(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes < 0 ? "−" : "+"}${hours}${rest === 0 ? "" : `:${String(rest).padStart(2, "0")}`}`;
}

/** At most `most` significant digits, with thousands grouped from 10,000 on. */
export function digits(value: number, most = 4): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4) return value.toExponential(most - 1).replace(/\.?0+e/, "e");
  const decimals = Math.max(0, most - 1 - Math.floor(Math.log10(size)));
  const rounded = Number(value.toFixed(Math.min(20, decimals)));
  return Math.abs(rounded) >= 10_000 ? rounded.toLocaleString("en", { maximumFractionDigits: 0 }) : String(rounded);
}

/** A value as precise as its interval: two digits of half the interval. */
export function precise(value: number | null, low: number | null, high: number | null): number | null {
  if (value === null || low === null || high === null || !(high > low)) return value;
  const step = 10 ** (Math.floor(Math.log10((high - low) / 2)) - 1);
  return Math.round(value / step) * step;
}

function scaled(value: Value, units: Units, like: Value): string {
  if (!isNumber(value)) return NONE;
  const smallest = units[units.length - 1] ?? [1, ""];
  const size = Math.abs(isNumber(like) ? like : value);
  // A value that rounds up to the next unit is written in it: 1 Gbit/s, not 1000 Mbit/s.
  const [factor, name] = size === 0 ? smallest : (units.find(([one]) => size >= one * 0.99995) ?? smallest);
  if (value === 0 && size === 0) return `0 ${units === DURATIONS ? "s" : name}`;
  return `${digits(value / factor)} ${name}`;
}

function isNumber(value: Value): value is number {
  return typeof value === "number" && Number.isFinite(value);
}
