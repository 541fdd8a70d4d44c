/** The parts of a run's result (docs/results.md) that the page shows. */
import type { Schemas } from "../api/client";
import { digits, spellNumber } from "../units";
import { isLive } from "./runList";

export type Run = Schemas["Run"];
export type Outline = Schemas["Outline"];
type Spread = { min: number; mean: number; p50: number; p95: number; p99: number };

export interface FlowNumbers {
  name: string;
  cc: string | null;
  variant?: string | null;
  goodput_bps: number | null;
  rtt_ms: Spread | null;
  cwnd_packets: { mean: number; max: number } | null;
  retransmits: number | null;
  loss_ratio: number | null;
  bytes: number | null;
  completion_s: number | null;
  connected_s?: number | null;
  requests?: RequestNumbers;
  rounds?: RoundNumbers;
}

/** Requests that were completed in the window, and their times. */
export interface RequestNumbers {
  completed: number;
  lost: number;
  time_ms: { p50: number; p99: number } | null;
}

/** Rounds of a barrier that ended in the window, and their times. */
export interface RoundNumbers {
  completed: number;
  time_ms: { p50: number; p99: number } | null;
}

/** Several flows under their common name: the streams of one transfer, or the connections of requests. */
export interface TotalNumbers {
  name: string;
  flows: number;
  goodput_bps: number;
  retransmits: number;
  bytes: number;
  completion_s: number | null;
  requests?: RequestNumbers;
  rounds?: RoundNumbers;
}

/** A flow's congestion control, with the source of one that replaces the kernel's: "cubic (user-supplied 3f9a12c4)". */
export function controlOf(flow: Pick<FlowNumbers, "cc" | "variant">): string {
  const replaced = flow.variant?.includes("user-supplied ") === true;
  if (!replaced || flow.cc === null) return flow.cc ?? "–";
  return flow.variant?.startsWith(`${flow.cc} (`) ? flow.variant : `${flow.cc} (${flow.variant})`;
}

export interface Check {
  name: string;
  ok: boolean;
  text: string;
}

export interface RunDocument {
  wall_s?: number;
  kernel_parts?: { about: string };
  /** Guests that ran it, if several did. */
  parts?: number;
  flows?: FlowNumbers[];
  totals?: TotalNumbers[];
  path?: {
    utilisation: number | null;
    drops: number;
    marks: number;
    queue_packets: { mean: number; p95: number; max: number };
  };
  jain?: number | null;
  fidelity?: { ok: boolean; checks: Check[] };
  expect?: { ok: boolean; text: string }[];
  error?: Record<string, string>;
  rerun?: { run: string; identical: boolean; differences: string[] };
}

export function documentOf(run: Run): RunDocument {
  return (run.document ?? {}) as RunDocument;
}

export const isOver = (status: Run["status"]): boolean => !isLive({ status });
export const isKept = (status: Run["status"]): boolean => status === "done" || status === "missed";

/** The kept run of which this one is a rerun, if it is one. */
export function originalOf(run: Run): string | null {
  return run.rerun_of ?? documentOf(run).rerun?.run ?? null;
}

/** Whether a run has charts and files: its own, a partial trace, or, for an identical rerun, those of the original run. */
export function hasTrace(run: Run): boolean {
  if (run.partial) return true;
  if (!isKept(run.status)) return false;
  return originalOf(run) === null || documentOf(run).rerun?.identical === true;
}

/** The time that measures cover, as in "after warmup (2 s to 30 s)"; empty if it is the whole run. */
export function windowText({ window_s, duration_s }: Outline): string {
  const [begin = 0, end = duration_s] = window_s;
  if (begin === 0 && end === duration_s) return "";
  return `${begin > 0 ? "after warmup" : "in the window"} (${digits(begin)} s to ${digits(end)} s)`;
}

/** The swept values of a point, as in "rtt 20 ms, app.cc reno"; empty without a sweep. */
export function pointText(point: Readonly<Record<string, string>>): string {
  return Object.entries(point)
    .map(([path, value]) => `${path.replace(/^(flows|path)\./, "")} ${spellNumber(value)}`)
    .join(", ");
}
