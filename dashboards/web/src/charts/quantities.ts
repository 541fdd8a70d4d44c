/** The quantities of charts: their names, values as text, and ticks of an axis. */
import { digits, NONE } from "../units";

export interface Quantity {
  name: string;
  /** The text of a value, with its unit. */
  say: (value: number | null) => string;
  /** The texts of an axis's ticks, in one unit. */
  ticks: (values: readonly number[]) => string[];
  /** The unit in the head of a CSV column. */
  unit: string;
  /** Whether it counts from the start: its mean says nothing, its rise does. */
  counts?: boolean;
}

/** The name of an axis in its unit, unless it counts packets. */
export function withUnit({ name, unit }: Quantity): string {
  return unit && unit !== "packets" ? `${name} (${unit})` : name;
}

type Scale = readonly [factor: number, unit: string];

const RATE: readonly Scale[] = [
  [1e9, "Gbit/s"],
  [1e6, "Mbit/s"],
  [1e3, "kbit/s"],
  [1, "bit/s"],
];
const COUNT: readonly Scale[] = [
  [1e6, "M"],
  [1e3, "k"],
  [1, ""],
];

function quantity(name: string, unit: string, scales: readonly Scale[], suffix = ""): Quantity {
  const noun = (value: number): string => (value === 1 ? suffix.replace(/s$/, "") : suffix);
  const scaleOf = (size: number): Scale => scales.find(([factor]) => size >= factor) ?? scales.at(-1) ?? [1, ""];
  return {
    name,
    unit,
    say: (value) => {
      if (value === null || !Number.isFinite(value)) return NONE;
      const [factor, own] = suffix ? ([1, ""] as const) : scaleOf(Math.abs(value));
      return `${digits(value / factor)} ${own}${noun(value)}`.trim();
    },
    ticks: (values) => {
      const [factor, own] = scaleOf(Math.max(...values.map(Math.abs), 0));
      const last = values.findLastIndex(Number.isFinite);
      return values.map((value, at) => {
        const text = value === 0 ? "0" : `${digits(value / factor)}${own.length > 1 ? " " : ""}${own}`;
        // One unit says it for all ticks.
        return suffix && at === last ? `${text} ${noun(value)}` : text;
      });
    },
  };
}

const packets = (name: string): Quantity => quantity(name, "packets", COUNT, "packets");
const counted = (name: string): Quantity => ({ ...packets(name), counts: true });
const rate = (name: string): Quantity => quantity(name, "bit/s", RATE);
const milliseconds = (name: string): Quantity => quantity(name, "ms", [[1, "ms"]]);

export const QUANTITIES = {
  cwnd: packets("Congestion window"),
  ssthresh: packets("Slow start threshold"),
  goodput: rate("Goodput"),
  throughput: rate("Throughput"),
  rtt: milliseconds("RTT"),
  inflight: packets("In flight"),
  retransmits: counted("Retransmits"),
  queue: packets("Queue"),
  queue_delay: milliseconds("Queue delay"),
  drops: counted("Drops"),
  capacity: rate("Capacity"),
  delay: milliseconds("Delay"),
  loss: quantity("Loss", "%", [[1, "%"]]),
  jain: quantity("Jain’s index", "", [[1, ""]]),
  share: quantity("Share of values", "", [[1, ""]]),
} as const;

export type Measure = keyof typeof QUANTITIES;

export const SECONDS: Quantity = {
  name: "Time",
  unit: "s",
  say: (value) => (value === null ? NONE : `${value.toFixed(value < 100 ? 3 : 2)} s`),
  ticks: (values) => {
    const step = values.length > 1 ? Math.abs((values[1] ?? 0) - (values[0] ?? 0)) : 1;
    const isExact = (decimals: number): boolean =>
      values.every((value) => Math.abs(Number(value.toFixed(decimals)) - value) < step * 1e-3);
    const decimals = [0, 1, 2, 3, 4, 5, 6, 7, 8].find(isExact) ?? 9;
    return values.map((value) => `${value.toFixed(decimals)} s`);
  },
};
