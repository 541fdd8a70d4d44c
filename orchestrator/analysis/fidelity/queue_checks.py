"""Checks of a followed queue: its rate, its limit, its random losses. Verdicts for checks.py."""

from __future__ import annotations

import math

import numpy as np

from longhaul.orchestrator.analysis.series import counter, of_flow
from longhaul.orchestrator.plan.qdiscs import (
    DCF,
    DELAYS,
    FRAME_MEMORY_BYTES,
    LEAST_FRAME_MEMORY_BYTES,
    counts_bytes,
    has_rate,
)
from longhaul.orchestrator.plan.queues.cake import counts_frames, shaped_bps
from longhaul.orchestrator.plan.run import Link, Qdisc, Run
from longhaul.orchestrator.trace.records import DROP_RANDOM, Records, Trace

# Whether it holds, and the found value; None if there is nothing to check.
Verdict = tuple[bool, str]

# By clock: real timers are late, within the budget (cpu_budget.py).
_TOLERANCE = {"virtual": 0.002, "real": 0.03}
# Standard deviations: a sound run is outside with a probability below 1e-9.
_SIGMAS = 6.2
# The frame of an acknowledgement with timestamps.
_ACK_BYTES = 66


def _at(run: Run, link: Link) -> str:
    """The name of the link, if there are several."""
    return f"{link.name}: " if len(run.links) > 1 else ""


def judge_rate(run: Run, trace: Trace, link: Link) -> Verdict | None:
    """While the queue was never empty, the link must have run at its rate."""
    # The rate of a transmitter on a shared channel depends on the others: `air time` is its check.
    # A recorded line has another rate all the time: `recorded line` is its check.
    if _qdisc_of(run, link.node, link.dev, DCF) is not None or link.offered_bytes:
        return None
    records = of_flow(trace.links, link.id)
    busy = records["queue_packets"] > 0
    if not busy.any():
        return None
    # The longest stretch of consecutive ticks that all found a queue.
    gaps = np.diff(records["t_ns"].astype(np.int64)) > run.trace.tick_us * 1500
    breaks = np.flatnonzero(~busy | np.append(False, gaps))
    edges = np.concatenate([[-1], breaks, [len(records)]])
    longest = int(np.diff(edges).argmax())
    first, last = int(edges[longest]) + 1, int(edges[longest + 1]) - 1
    if last - first < 2:
        return None
    span_ns = int(records["t_ns"][last] - records["t_ns"][first])
    sent_bits = int(records["tx_bytes"][last] - records["tx_bytes"][first]) * 8
    shaped = shaped_bps(_qdiscs_of(run, link.node, link.dev))
    rate_bps = min(link.rate_bps, shaped or link.rate_bps)
    expected_bits = rate_bps * span_ns / 1e9
    # A queue seen at two ticks may have been empty between them; only an excess is an error then.
    slack_bits = (2 * run.meaning.frame_bytes + _burst_bytes(run, link)) * 8
    tolerance = _TOLERANCE[run.clock]
    # The kernel counts whole nanoseconds, downwards: each packet may take up to one less than it should.
    early_bits = link.rate_bps * int(records["tx_packets"][last] - records["tx_packets"][first]) / 1e9
    high = sent_bits <= expected_bits * (1 + tolerance) + slack_bits + early_bits
    low = sent_bits >= expected_bits * (1 - tolerance) - slack_bits
    # A shaper that counts more than frames lets fewer of them leave.
    steady = _never_idle(run, link, records[first : last + 1]) and counts_frames(_qdiscs_of(run, link.node, link.dev))
    return (
        high and (low or not steady),
        f"{_at(run, link)}{sent_bits * 1e9 / span_ns:.0f} bit/s over {span_ns / 1e9:.2f} s, {rate_bps} configured",
    )


def _never_idle(run: Run, link: Link, records: Records) -> bool:
    """Whether at each tick more waited than the line could send until the next one, and than the queue threw away meanwhile."""
    sendable = link.rate_bps * np.diff(records["t_ns"].astype(np.int64)) / 8e9
    dropped = np.diff(records["drops"].astype(np.int64)) * run.meaning.frame_bytes
    return bool((records["queue_bytes"][:-1] > sendable + dropped).all())


def _burst_bytes(run: Run, link: Link) -> int:
    """The bytes that a rate limiter may send at once, besides a frame: in real time, or with a bucket of its own."""
    limiters = [qdisc for qdisc in _qdiscs_of(run, link.node, link.dev) if has_rate(qdisc)]
    burst = limiters[0].options["burst_bytes"] if limiters else 0
    assert isinstance(burst, int)
    return burst if run.clock == "real" or burst > 2 * run.meaning.frame_bytes else 0


def judge_limit(run: Run, trace: Trace, link: Link) -> Verdict | None:
    """The queue never exceeds its buffer."""
    records = of_flow(trace.links, link.id)
    if not len(records):
        return None
    if (cake := _qdisc_of(run, link.node, link.dev, "cake")) is not None:
        return _judge_memory(run, link, cake, records)
    # A queue that counts bytes has room for more packets if some are short.
    in_bytes = any(counts_bytes(qdisc) for qdisc in _qdiscs_of(run, link.node, link.dev))
    if link.queue_limit_packets and not in_bytes:
        most = int(records["queue_max_packets"].max())
        return (
            most <= link.queue_limit_packets,
            f"{_at(run, link)}at most {most} packets waited, {link.queue_limit_packets} may",
        )
    if link.queue_limit_bytes:
        most = int(records["queue_bytes"].max())
        return (
            most <= link.queue_limit_bytes,
            f"{_at(run, link)}at most {most} bytes waited, {link.queue_limit_bytes} may",
        )
    return None


def _judge_memory(run: Run, link: Link, cake: Qdisc, records: Records) -> Verdict:
    """CAKE limits the memory of the packets behind the next one: that of this many full frames. Bare acknowledgements take none."""
    limit = cake.options["memory_bytes"]
    assert isinstance(limit, int)
    allowed = limit + run.meaning.frame_bytes + FRAME_MEMORY_BYTES
    # The number of packets with data is unknown: at least the number of full frames for the data.
    packets = records["queue_packets"].astype(np.int64)
    data = np.maximum(records["queue_bytes"].astype(np.int64) - packets * _ACK_BYTES, 0)
    frames = np.ceil(data / (run.meaning.frame_bytes - _ACK_BYTES))
    most = int((data + frames * (LEAST_FRAME_MEMORY_BYTES + _ACK_BYTES)).max())
    return (
        most <= allowed,
        f"{_at(run, link)}at most {packets.max()} packets waited, in at least {most} bytes of memory, {allowed} may",
    )


def judge_losses(run: Run, trace: Trace, link: Link) -> Verdict | None:
    """Independent random loss must stay inside its binomial interval."""
    if any(table.dev == link.dev and table.kind in ("losses", "lost_packets") for table in run.recordings):
        return None
    delay = next((qdisc for qdisc in _qdiscs_of(run, link.node, link.dev) if qdisc.kind in DELAYS), None)
    share = int(delay.options.get("loss_2p32") or 0) / 2**32 if delay else 0.0  # type: ignore[arg-type]
    if delay and (delay.options.get("gemodel_2p32") or delay.options.get("duplicate_2p32")):
        return None
    drops, records = of_flow(trace.drops, link.id), of_flow(trace.links, link.id)
    lost = int(np.count_nonzero(drops["state"] == DROP_RANDOM))
    dropped = len(drops)
    if run.clock == "real" and len(records):
        lost = int(records["losses"][-1])
        dropped = lost + int(records["drops"][-1])
    sent = int(counter(records, "tx_packets", run).value[-1])
    offered = sent + dropped
    expected, spread = offered * share, math.sqrt(offered * share * (1 - share))
    # The normal interval, with room for the skew of small counts.
    ok = abs(lost - expected) <= _SIGMAS * spread + (20 if share else 0)
    return (ok, f"{_at(run, link)}{lost} of {offered} packets, {expected:.1f} expected")


def _qdisc_of(run: Run, node: str, dev: str, kind: str) -> Qdisc | None:
    return next((qdisc for qdisc in _qdiscs_of(run, node, dev) if qdisc.kind == kind), None)


def _qdiscs_of(run: Run, node: str, dev: str) -> tuple[Qdisc, ...]:
    return next((end.qdiscs for end in run.ends if (end.node, end.dev) == (node, dev)), ())
