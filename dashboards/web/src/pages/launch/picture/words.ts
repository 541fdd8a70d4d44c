/** The texts of links in the path diagram. */
import { duration, packets, rate, share } from "../../../units";
import type { Direction, Link } from "./layout";

const US = 1e-6;

export interface Words {
  above: string;
  below: readonly string[];
}

/** The text of an access link in one line, because many of them may be stacked. */
export function accessWords({ forward, reverse }: Link): Words {
  const slower = forward.rate_bps === null ? reverse : forward;
  const delayUs = Math.max(forward.delay_us, reverse.delay_us);
  const parts = [
    slower.rate_bps !== null && `${rate(slower.rate_bps)}${slower.medium ? ` ${slower.medium}` : ""}`,
    delayUs > 0 && duration(delayUs * US),
    forward.loss > 0 && `loss ${share(forward.loss)}`,
  ];
  return { above: parts.filter(Boolean).join(", "), below: [] };
}

/** Lines above and below a link; none if it has no effect on packets. */
export function linkWords(link: Link): Words {
  const { forward, reverse } = link;
  const above =
    forward.rate_bps === null
      ? reverse.rate_bps === null
        ? ""
        : `reverse ${rate(reverse.rate_bps)}`
      : ratesOf(forward, reverse);
  return {
    above,
    below: [timesOf(forward, reverse), chancesOf(forward, reverse), ...queueOf(forward)].filter(Boolean),
  };
}

export function linesOf({ above, below }: Words): readonly string[] {
  return [above, ...below].filter(Boolean);
}

function ratesOf(forward: Direction, reverse: Direction): string {
  const there = `${rate(forward.rate_bps)}${forward.medium ? ` ${forward.medium}` : ""}`;
  return reverse.rate_bps === null || reverse.rate_bps === forward.rate_bps
    ? there
    : `${there}, reverse ${rate(reverse.rate_bps)}`;
}

function timesOf(forward: Direction, reverse: Direction): string {
  if (forward.delay_us + reverse.delay_us === 0) return "";
  const jitter = forward.jitter_us > 0 ? ` ± ${duration(forward.jitter_us * US)}` : "";
  if (forward.delay_us === reverse.delay_us) return `${duration(forward.delay_us * US)}${jitter} each way`;
  return `${duration(forward.delay_us * US)}${jitter} forward, ${duration(reverse.delay_us * US)} reverse`;
}

function chancesOf(forward: Direction, reverse: Direction): string {
  const parts = [
    forward.loss > 0 && `loss ${share(forward.loss)}`,
    forward.bursts && "loss in bursts",
    reverse.loss > 0 && `reverse loss ${share(reverse.loss)}`,
    forward.reorder > 0 && `reorder ${share(forward.reorder)}`,
    forward.duplicate > 0 && `duplicate ${share(forward.duplicate)}`,
    forward.corrupt > 0 && `corrupt ${share(forward.corrupt)}`,
  ];
  return parts.filter(Boolean).join(", ");
}

function queueOf({ queue, buffer_packets, buffer_us, ecn }: Direction): readonly string[] {
  if (queue === null || buffer_packets === null) return [];
  return [
    `${queue}, ${packets(buffer_packets)}${ecn ? ", ECN" : ""}`,
    ...(buffer_us === null ? [] : [`${duration(Number((buffer_us * US).toPrecision(3)))} when full`]),
  ];
}
