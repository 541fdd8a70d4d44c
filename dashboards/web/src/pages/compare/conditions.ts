/** The conditions of runs, and those in which several runs differ, with the names that `longhaul compare` uses. */
import type { Outline, Run } from "../../data/runDocument";
import { digits, duration, packets, rate } from "../../units";

/** A condition with its values, each once. */
export interface Differing {
  field: string;
  values: readonly string[];
}

type Compared = Readonly<{ run: Pick<Run, "backend" | "kernel" | "topology" | "point">; outline: Outline }>;

// Swept fields that are conditions anyway.
const LISTED = new Set(["bandwidth", "rtt", "buffer", "queue"]);

function conditionsOf({ run, outline }: Compared): Record<string, string> {
  const [link] = outline.links;
  const swept = Object.entries(run.point)
    .map(([field, value]) => [field.replace(/^(flows|path)\./, ""), value] as const)
    .filter(([field]) => !LISTED.has(field));
  return {
    backend: run.backend,
    kernel: run.kernel,
    topology: run.topology ?? "",
    bandwidth: rate(link?.rate_bps),
    rtt: duration(outline.rtt_ms / 1000),
    buffer: packets(outline.buffer_packets),
    queue: link?.queue ?? "",
    duration: `${digits(outline.duration_s)} s`,
    ...Object.fromEntries(swept),
    flows: outline.flows.map(({ name, cc, kind }) => `${name} ${cc ?? kind}`).join(", "),
  };
}

/** The conditions in which runs differ, without their seeds. */
export function differingIn(runs: readonly Compared[]): Differing[] {
  const all = runs.map(conditionsOf);
  const fields = [...new Set(all.flatMap((one) => Object.keys(one)))];
  return fields
    .map((field) => ({ field, values: [...new Set(all.map((one) => one[field] ?? "not swept"))] }))
    .filter(({ values }) => values.length > 1);
}
