/** Names and values of measures as the page shows them. Comparisons write `rtt_mean`, summaries `rtt_ms.mean`. */
import { count, digits, duration, NONE, packets, percent, plain, rate, size } from "../units";

const SHARES = new Set(["loss_ratio", "pdr", "share", "rate_error", "utilisation", "efficiency"]);
const COUNTS = new Set(["retransmits", "drops", "marks"]);
const NAMES: Readonly<Record<string, string>> = {
  goodput_cv: "goodput, variation",
  rtt: "RTT",
  tpp: "TPP",
  pdr: "delivered share",
  loss_ratio: "loss",
  rate_error: "rate error",
  jain: "Jain’s index",
  completion_s: "completion",
  convergence_s: "convergence",
  recovery_ratio: "recovery",
  stability_sd: "goodput, deviation",
};

/** "rtt_ms.p95" -> "RTT, 95 %"; an unknown measure keeps its own name. */
export function measureText(measure: string): string {
  const known = NAMES[measure];
  if (known !== undefined) return known;
  const bare = measure.replace(/_(bps|ms|packets)(?=\.|$)/, "").replace(/_s$/, "");
  const [, name = bare, of = ""] = /^(.*?)[._](mean|min|max|p\d+)$/.exec(bare) ?? [];
  const words = NAMES[name] ?? name.replaceAll("_", " ");
  if (of === "") return words;
  return `${words}, ${of.startsWith("p") ? `${of.slice(1)} %` : of}`;
}

/** A value of a measure, with its unit: that of `like`, a value that it is compared with. */
export function measureValue(measure: string, value: number | null | undefined, like = value): string {
  if (value == null || like == null) return NONE;
  if (measure.endsWith("_cv")) return plain(value);
  if (/_bps$|^(goodput|throughput|stability_sd)/.test(measure)) return rate(value, like);
  if (SHARES.has(measure)) return percent(value);
  if (COUNTS.has(measure)) return count(value);
  if (measure === "bytes") return size(value, like);
  if (/^(rtt|queue_delay)/.test(measure)) return duration(value / 1000, like / 1000);
  if (/^(cwnd|queue)/.test(measure) && !measure.endsWith("_s")) return packets(value);
  if (/_s$|^fct/.test(measure)) return duration(value, like);
  return digits(value);
}

/** The measure shown first: the share of competing flows, otherwise goodput (a lone flow always has all of it). */
export function firstOf<T extends { flow: string | null; measure: string }>(measures: readonly T[]): T | undefined {
  const shares = measures.filter((one) => one.measure === "share" && one.flow);
  return (
    (shares.length > 1 ? shares[0] : undefined) ??
    measures.find((one) => one.measure === "goodput_bps" && one.flow) ??
    measures[0]
  );
}
