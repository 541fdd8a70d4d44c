"""The queueing disciplines of a path, as the kernel takes them: netem for delay and randomness, tbf for rate, a child for the queue.

    root netem 1: --- tbf 2: --- queue 3:       with impairments in front of the rate
    root tbf 2: --- queue 3:                    without
    root lh_dcf 2:                              a transmitter of a shared 802.11 channel, below a netem too: rate and queue in one
    root lh_link 2:                             the first two of these in one, for a plain link in virtual time

The handles are the same for every device, so that a scheduled change finds its qdisc. queues/tc_words.py has them as
commands of tc, for readers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields

from longhaul.orchestrator.plan.run import Option, Qdisc
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

NETEM, RATE, QUEUE = "1:", "2:", "3:"

# Two queues, one of them for L4S; and the place of a filter, which is no queue.
DUALPI2, CLSACT = "dualpi2", "clsact"
CAKE = "cake"
# A packet's ECN field: capable of ECN, and capable of L4S.
ECT0, ECT1 = 0b10, 0b01

# The project's own kinds of queue, and their modules in the guest.
DCF, DCF_MODULE = "lh_dcf", "sch_lh_dcf"
LINK, LINK_MODULE = "lh_link", "sch_lh_link"

# Limit of packets in a delay line, never a buffer: the queue behind it has its own limit.
DELAY_LINE_PACKETS = 10_000_000

# Linux needs at least one whole frame of burst; more would let trains leave faster than the line.
_BURST_SLACK_BYTES = 86

# RED's smoothing is tuned for this packet size (iproute2's usual avpkt), and its arithmetic is 32 bits wide.
RED_AVERAGE_PACKET_BYTES = 1000
RED_PROBABILITY = 0.02
_RED_WORD_BITS = 32


@dataclass(frozen=True, slots=True)
class Impairment:
    """netem's work; shares of 2^32 where the name says so. `gemodel_2p32` is p, r, 1-bad, good."""

    delay_us: int = 0
    jitter_us: int = 0
    loss_2p32: int = 0
    gemodel_2p32: tuple[int, int, int, int] | None = None
    duplicate_2p32: int = 0
    corrupt_2p32: int = 0
    reorder_2p32: int = 0

    @property
    def nothing(self) -> bool:
        """Whether a device needs no netem for it."""
        return all(getattr(self, part.name) in (0, None) for part in fields(self))


@dataclass(frozen=True, slots=True)
class Bucket:
    """The token bucket of a rate; a peak of 0 lets its bytes pass at once."""

    burst_bytes: int
    peak_bps: int = 0


# dualpi2 takes its gains in this part of a Hz.
GAIN_STEPS = 256


@dataclass(frozen=True, slots=True)
class DualQueue:
    """The parameters of dualpi2 as the kernel takes them: gains in Hz / 256; a step in packets or in microseconds."""

    target_us: int = 15_000
    tupdate_us: int = 16_000
    alpha: int = 41
    beta: int = 819
    step: int = 1000
    step_in_packets: bool = False
    coupling: int = 2
    classic_percent: int = 10
    drop_overload: bool = True
    drop_early: bool = False


@dataclass(frozen=True, slots=True)
class Medium:
    """One 802.11 channel: the settings shared by all its transmitters (wifi_airtime.py has its times). Numbers are unique in a guest."""

    number: int
    rate_bps: int
    basic_rate_bps: int
    rts: bool
    overhead_bytes: int


@dataclass(frozen=True, slots=True)
class Aggregation:
    """What a transmitter of an 802.11n channel puts into one transmission: frames for one receiver, of which a share fails.

    With `one_receiver` all its packets go to the same one; otherwise their Ethernet addresses tell receivers apart.
    """

    frames: int
    one_receiver: bool
    frame_loss_2p32: int = 0


def share_2p32(share: float) -> int:
    """A probability in netem's format."""
    return min(round(share * 2**32), 2**32 - 1)


def netem(impairment: Impairment, *, keep_order: bool, seed: int) -> Qdisc:
    """Delay and randomness at the root of a device."""
    options: dict[str, Option] = {
        "limit": DELAY_LINE_PACKETS,
        "delay_ns": impairment.delay_us * 1000,
        "jitter_ns": impairment.jitter_us * 1000,
        "keep_order": keep_order,
        "loss_2p32": impairment.loss_2p32,
        "gemodel_2p32": impairment.gemodel_2p32,
        "duplicate_2p32": impairment.duplicate_2p32,
        "corrupt_2p32": impairment.corrupt_2p32,
        "reorder_2p32": impairment.reorder_2p32,
        "seed": seed,
    }
    return Qdisc("netem", NETEM, "root", options)


def tbf(rate_bps: int, frame_bytes: int, limit: int, *, below_netem: bool, bucket: Bucket | None = None) -> Qdisc:
    """The rate; `limit` repeats the limit of the queue, where packets wait."""
    least_bytes = frame_bytes + _BURST_SLACK_BYTES
    options: dict[str, Option] = {
        "rate_bps": rate_bps,
        "burst_bytes": bucket.burst_bytes if bucket else least_bytes,
        "limit": limit,
    }
    if bucket and bucket.peak_bps:
        options |= {"peak_bps": bucket.peak_bps, "peak_burst_bytes": least_bytes}
    return Qdisc("tbf", RATE, f"{NETEM}1" if below_netem else "root", options)


def dcf(medium: Medium, limit: int, *, below_netem: bool, seed: int, aggregation: Aggregation | None = None) -> Qdisc:
    """A transmitter of a shared 802.11 channel, of 802.11n with `aggregation`; its queue is part of it, and contains what is in the air too."""
    options: dict[str, Option] = {
        "medium": medium.number,
        "rate_bps": medium.rate_bps,
        "basic_rate_bps": medium.basic_rate_bps,
        "limit": limit,
        "overhead_bytes": medium.overhead_bytes,
        "rts": medium.rts,
        "seed": seed,
    }
    if aggregation is not None:
        options |= {
            "ht": True,
            "aggregate": aggregation.frames,
            "one_receiver": aggregation.one_receiver,
            "frame_loss_2p32": aggregation.frame_loss_2p32,
        }
    return Qdisc(DCF, RATE, f"{NETEM}1" if below_netem else "root", options)


def plain_link(chain: Sequence[Qdisc]) -> Qdisc | None:
    """The same link as one qdisc; None where it would need more than delay, jitter, loss, a rate and a drop-tail queue."""
    parts = {qdisc.kind: qdisc.options for qdisc in chain}
    delay = parts.pop("netem", {})
    rate = parts.pop("tbf", {})
    fifos = {kind: parts.pop(kind) for kind in ("pfifo", "bfifo") if kind in parts}
    beyond = any(delay.get(name) for name in ("duplicate_2p32", "corrupt_2p32", "reorder_2p32"))
    if parts or beyond or not delay or bool(rate) != bool(fifos):
        return None
    options: dict[str, Option] = {
        **{name: delay[name] for name in ("delay_ns", "jitter_ns", "loss_2p32", "gemodel_2p32")},
        "rate_bps": rate.get("rate_bps", 0),
        "burst_bytes": rate.get("burst_bytes", 0),
        **{name: rate[name] for name in ("peak_bps", "peak_burst_bytes") if name in rate},
        "limit": next(iter(fifos.values()), {}).get("limit", 0),
        "in_bytes": "bfifo" in fifos,
        "orphan": bool(delay["keep_order"] or delay["delay_ns"] or delay["jitter_ns"]),
        "seed": delay["seed"],
    }
    return Qdisc(LINK, RATE, "root", options)


def queue(
    kind: str,
    *,
    packets: int,
    size_bytes: int,
    in_bytes: bool,
    rate_bps: int,
    frame_bytes: int,
    ecn: bool,
    mark_at_bytes: int = 0,
    dual: DualQueue | None = None,
    cake: Mapping[str, Option] | None = None,
) -> Qdisc:
    """The queue below the rate."""
    options: dict[str, Option]
    match kind:
        case "droptail":
            kind, options = ("bfifo", {"limit": size_bytes}) if in_bytes else ("pfifo", {"limit": packets})
        case "codel":
            options = {"limit": packets, "target_us": 5000, "interval_us": 100_000, "ecn": ecn}
        case "fq_codel":
            options = {
                "limit": packets,
                "flows": 1024,
                "quantum": frame_bytes,
                "target_us": 5000,
                "interval_us": 100_000,
                "ecn": ecn,
            }
        case "pie":
            options = {"limit": packets, "target_us": 15_000, "tupdate_us": 15_000, "ecn": ecn}
        case "red":
            options = red_options(size_bytes, rate_bps, ecn=ecn)
        case "step":
            kind, options = "red", step_options(size_bytes, mark_at_bytes, ecn=ecn)
        case "cake":
            options = {"memory_bytes": packets * (frame_bytes + FRAME_MEMORY_BYTES), "rtt_us": 100_000, **(cake or {})}
        case "dualpi2":
            # Its limit is the packets'; the memory that the kernel would compute from them may be less than they take.
            memory = min(2 * packets * (frame_bytes + FRAME_MEMORY_BYTES), 2**32 - 1)
            options = {"limit": packets, "memory_bytes": memory, **asdict(dual or DualQueue())}
        case _:
            raise ValueError(f"unknown queue {kind}")
    return Qdisc(kind, QUEUE, f"{RATE}1", options)


def ect1_mark() -> Qdisc:
    """The place of the filter that gives ECT(1) to what a sender sends as ECT(0)."""
    return Qdisc(CLSACT, "ffff:", "ffff:fff1", {"ect1": True})


# Queues that count bytes however the buffer is written.
COUNTS_BYTES = ("red", "step")
# Kinds of qdiscs with a link's delay and losses.
DELAYS = ("netem", LINK)


def has_rate(qdisc: Qdisc) -> bool:
    """Whether packets leave it at a rate of its own."""
    return qdisc.kind == "tbf" or (qdisc.kind == LINK and bool(qdisc.options["rate_bps"]))


def counts_bytes(qdisc: Qdisc) -> bool:
    """Whether its limit is one of bytes; CAKE's counts memory, every other one packets."""
    return qdisc.kind in ("bfifo", "red") or (qdisc.kind == LINK and bool(qdisc.options["in_bytes"]))


def marks(kind: str) -> bool:
    """Whether a queue of this name marks packets of senders that ask for ECN instead of dropping them."""
    qdisc = queue(kind, packets=1, size_bytes=1500, in_bytes=False, rate_bps=10**6, frame_bytes=1514, ecn=True)
    # CAKE and dualpi2 always do, without an option.
    return qdisc.kind in ("cake", DUALPI2) or "ecn" in qdisc.options


# Ethernet header; no frame check sequence or preamble crosses a veth.
FRAME_HEADER_BYTES = 14
# The kernel's largest account of one full frame of 1500 bytes: its page share, its head and its descriptor.
SKB_BYTES = 2560
# Its account of a TCP frame besides the bytes, whatever its size: CAKE's limit is one of memory, and so many frames fit.
FRAME_MEMORY_BYTES = 766
# The smallest such account in any kernel, for any frame with data. A bare acknowledgement counts as nothing.
LEAST_FRAME_MEMORY_BYTES = 690


def red_options(limit_bytes: int, rate_bps: int, *, ecn: bool) -> dict[str, Option]:
    """RED with thresholds at a twelfth and a quarter of the buffer, as tc sets them when only the limit is given."""
    highest = max(limit_bytes // 4, 3 * RED_AVERAGE_PACKET_BYTES)
    lowest = highest // 3
    burst = (2 * lowest + highest) // (3 * RED_AVERAGE_PACKET_BYTES)
    # The kernel refuses averages that do not fit its word: a large buffer is smoothed less.
    wlog = min(_red_wlog(lowest, burst), _RED_WORD_BITS - 1 - highest.bit_length())
    scell_log, stab = _red_idle(wlog, rate_bps)
    return {
        "limit": limit_bytes,
        "min": lowest,
        "max": highest,
        "wlog": wlog,
        "plog": _red_plog(highest - lowest),
        "scell_log": scell_log,
        "stab": stab,
        "max_p_2p32": share_2p32(RED_PROBABILITY),
        "ecn": ecn,
    }


def step_options(limit_bytes: int, threshold_bytes: int, *, ecn: bool) -> dict[str, Option]:
    """RED as in DCTCP's switches (RFC 8257): both thresholds at one value, on the queue itself and not on an average."""
    return {
        "limit": limit_bytes,
        "min": threshold_bytes,
        "max": threshold_bytes,
        "wlog": 0,
        "plog": 1,
        "scell_log": 0,
        # The average after any time without a queue: nothing.
        "stab": (_RED_WORD_BITS - 1,) * 256,
        "max_p_2p32": share_2p32(RED_PROBABILITY),
        "ecn": ecn,
    }


def _red_plog(span_bytes: int) -> int:
    """-log2(probability / span), rounded down to the kernel's step."""
    return next((log for log in range(_RED_WORD_BITS) if RED_PROBABILITY / span_bytes * 2**log > 1), _RED_WORD_BITS - 1)


def _red_wlog(lowest_bytes: int, burst_packets: int) -> int:
    """The smallest weight 2^-w of a new sample with which a burst from empty does not reach the lower threshold."""
    room = burst_packets + 1 - lowest_bytes / RED_AVERAGE_PACKET_BYTES
    for wlog in range(1, _RED_WORD_BITS):
        weight = 2.0**-wlog
        if room <= (1 - (1 - weight) ** burst_packets) / weight:
            return wlog
    return _RED_WORD_BITS - 1


def _red_idle(wlog: int, rate_bps: int) -> tuple[int, tuple[int, ...]]:
    """How the average decays while the queue is empty: a table of shifts over the idle time in the kernel's microseconds."""
    packet_us = RED_AVERAGE_PACKET_BYTES * 8 * 1e6 / rate_bps
    shift_per_us = -math.log(1 - 2.0**-wlog) / packet_us
    longest_us = 31 / shift_per_us
    scell_log = next(log for log in range(_RED_WORD_BITS) if longest_us / 2**log < 512)
    inner = (min(int((cell << scell_log) * shift_per_us), 31) for cell in range(1, 255))
    return scell_log, (0, *inner, 31)
