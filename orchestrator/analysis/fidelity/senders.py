"""The limit of each TCP sender at each time: its own window, its pacing, its data; a buffer or an unknown limit fails a check.

A record of an ACK shows the sender as the ACK arrives, so its state since the ACK before. A sender that could have sent then and did not had
a limit. Verdicts for checks.py, in the run's own time: each stretch between two ACKs counts by its length.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.plan.qdiscs import DCF
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.tcp_settings import LARGEST_WINDOW_BYTES, MOST_BUFFER_BYTES, WOKEN_SHARE, Pipe
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import Records, Trace

# Name, whether it holds, the found value.
Verdict = tuple[str, bool, str]

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]

# Shares of a sender's time: limited by buffers, and limited by an unknown cause.
_BUFFERS_SHARE = 0.01
_UNNAMED_SHARE = 0.02
# A trace that samples has one record for all of its interval, and this many of them are not conclusive.
_FEW_SAMPLES = 2
# TCP is in recovery or loss; a hole fills its buffers if the packets behind it take this share, counted as full packets.
_STATE_RECOVERY, _HOLE_SHARE = 3, 0.5
# A sender this near to its window is at it: a window also grows between two records.
_WINDOW_SHARE, _WINDOW_PACKETS = 0.95, 3
# It is paced if over this many packets it sent nearly all that its pacing rate allows.
_PACED_SHARE, _PACED_PACKETS = 0.8, 16
# If two records are more than a round trip apart, BBR may have paced by this share of the rate that they show.
_UNSEEN_GAIN = 0.75
# A SYN, and the first packets of a connection of an iperf3 client.
_COOKIE_BYTES = 1 + 37
# The window of a SYN is not scaled; from there on a receiver opens its window by two bytes for each that arrives. Both with a margin.
_FIRST_WINDOW_BYTES, _OPENING = 58_000, 1.5
# Long traces are processed in parts, each with this many records of the previous part.
_PART_RECORDS, _OVERLAP_RECORDS = 500_000, 5_000


@dataclass(frozen=True, slots=True)
class Held:
    """The observed time of a sender in microseconds, and the time under each limit."""

    total_us: float
    # While its receiver still opened the window: all of that time, and the part in which the window limited the sender.
    opening_us: float
    opening_held_us: float
    # Limited by a window that no longer opened, and by a window or send buffer that cannot be larger.
    window_us: float
    largest_us: float
    # While half its buffers or more held the packets behind one that was lost, and lost again.
    hole_us: float
    # Limited by an unknown cause, without the longest such stretch: silence after a timeout looks like it.
    unnamed_us: float


def judge_senders(run: Run, trace: Trace, facts: dict[str, Any]) -> Iterator[Verdict]:
    """The checks of each sender of one connection; web users open many, of sizes that the trace does not contain."""
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    order = np.argsort(trace.acks["id"], kind="stable")
    ids = trace.acks["id"][order]
    for flow in run.flows:
        fact = fact_of[flow.id]
        if flow.kind != "tcp" or not fact["busy_us"]:
            continue
        mine = order[np.searchsorted(ids, flow.id, "left") : np.searchsorted(ids, flow.id, "right")]
        # They are not copied if no other flow has any.
        acks = trace.acks[mine] if len(mine) < len(ids) else trace.acks
        held = what_held(run, flow, acks, fact)
        if not flow.options.window_clamp_bytes:
            yield _buffers(run, flow, fact, held)
        if run.clock == "virtual" and not _queues_at_home(run, flow):
            yield _unnamed(run, flow, held)


def _buffers(run: Run, flow: Flow, fact: dict[str, Any], held: Held) -> Verdict:
    """By the kernel's own clocks, without the time under the opening window and the largest one; and by the trace."""
    receiver_us = max(fact["rwnd_limited_us"] - held.opening_us - held.largest_us, 0)
    limited_us = max(receiver_us + fact["sndbuf_limited_us"] - held.hole_us, 0)
    window_us = held.window_us - _FEW_SAMPLES * run.trace.ack_us
    share = max(limited_us / fact["busy_us"], window_us / held.total_us)
    text = f"{flow.name}: {share:.2%} of its time"
    if held.opening_held_us:
        text += f", and {held.opening_held_us / 1000:.0f} ms while its first window opened"
    if held.largest_us:
        text += f", and {held.largest_us / held.total_us:.2%} at the largest window or send buffer of TCP"
    if held.hole_us:
        text += f", and {held.hole_us / held.total_us:.2%} with half its buffers or more behind a packet that was lost again and again"
    return "not limited by buffers", share <= _BUFFERS_SHARE, text


def _unnamed(run: Run, flow: Flow, held: Held) -> Verdict:
    share = max(held.unnamed_us - _FEW_SAMPLES * run.trace.ack_us, 0) / held.total_us
    return (
        "limits have names",
        share <= _UNNAMED_SHARE,
        f"{flow.name}: for {share:.2%} of its time neither its window, its receiver's, its pacing nor its data held it back",
    )


def _queues_at_home(run: Run, flow: Flow) -> bool:
    """If the first queue is a wireless transmitter's, it is its host's own, and TCP keeps that short (TCP small queues): a known limit that no record shows."""
    queues = {end.dev: end.qdiscs for end in run.ends}
    first = next((queues[dev] for dev in flow.forward if queues[dev]), ())
    return any(qdisc.kind == DCF for qdisc in first)


def what_held(run: Run, flow: Flow, acks: Records, fact: dict[str, Any]) -> Held:
    """Compute the limits from a flow's ACKs."""
    if flow.group is not None:
        # A stream of a transfer sends what it takes of the shared size.
        flow = replace(flow, bytes=fact["bytes_sent"])
    begin_ns = fact["connected_us"] * 1000
    end_ns = (
        max(fact["stopped_us"] if fact["stopped_us"] is not None else run.duration_us, fact["connected_us"] + 1) * 1000
    )
    sums, longest = np.zeros(6), 0.0
    for begin in range(0, len(acks), _PART_RECORDS):
        first = max(begin - _OVERLAP_RECORDS, 0)
        part = acks[first : begin + _PART_RECORDS]
        flags, lasted_us = _flags(run, flow, part, int(acks["t_ns"][first - 1]) if first else begin_ns)
        lasted_us = lasted_us[begin - first :]
        sums += [lasted_us[flag[begin - first :]].sum() for flag in flags]
        longest = max(longest, float(lasted_us[flags[-1][begin - first :]].max(initial=0)))
    # The time after the last ACK, or without any, counts as an opening window if it was opening then.
    last_ns = int(acks["t_ns"][-1]) if len(acks) else begin_ns
    if not len(acks) or _opens(acks[-1:])[0]:
        sums[0] += max(end_ns - last_ns, 0) / 1000
    opening, opening_held, window, largest, hole, unnamed = (float(one) for one in sums)
    return Held((end_ns - begin_ns) / 1000, opening, opening_held, window, largest, hole, unnamed - longest)


def _opens(acks: Records) -> Flags:
    """Whether the receiver's window is as open as its received bytes allow. A stuck window falls behind at once."""
    return np.asarray(acks["snd_wnd"] >= _FIRST_WINDOW_BYTES + _OPENING * acks["acked_bytes"])


def _flags(run: Run, flow: Flow, acks: Records, before_ns: int) -> tuple[tuple[Flags, ...], Floats]:
    """
    Which records found the receiver's window opening, the sender limited by that, by a full window, by the largest, its buffers filled by
    a hole, the sender limited by an unknown cause; and the duration of each, in microseconds.
    """
    mss = run.meaning.mss_bytes
    t_ns = acks["t_ns"].astype(np.float64)
    lasted_us = np.maximum(np.diff(t_ns, prepend=float(before_ns)), 0) / 1000
    cwnd, inflight = acks["cwnd"].astype(np.float64), acks["inflight"].astype(np.float64)
    acked = acks["acked_bytes"].astype(np.float64)
    # Packets sent and not acknowledged, including those that arrived after a hole, or are lost and not retransmitted.
    arrived = np.maximum(acks["delivered"] - acked / mss - 1, 0)
    lost = np.maximum(acks["lost"].astype(np.float64) - acks["retrans"], 0)
    span = inflight + arrived + lost
    next_bytes = (span + 1) * mss
    free = inflight < np.minimum(_WINDOW_SHARE * cwnd, cwnd - _WINDOW_PACKETS)
    if flow.tool == "iperf3":
        # It has no data to send before its server's message, which follows its cookie.
        free &= acked > _COOKIE_BYTES
    if flow.bytes is not None:
        free &= acked + next_bytes < flow.bytes
    if flow.stop_us is not None:
        free &= t_ns < flow.stop_us * 1000
    if free.any():
        free &= ~_paced(acks, free, t_ns, lasted_us, mss)
    offered = acks["snd_wnd"].astype(np.float64)
    send_bytes = _send_buffer_bytes(run, flow)
    # The number of full packets that it holds, at least.
    buffered = send_bytes / Pipe(0, run.meaning.mtu).skb_bytes
    hole = (acks["state"] >= _STATE_RECOVERY) & (span >= _HOLE_SHARE * buffered)
    free &= ~hole
    blocked = free & (next_bytes > offered)
    largest = blocked & (offered >= LARGEST_WINDOW_BYTES - 2 * mss)
    if send_bytes == MOST_BUFFER_BYTES:
        # A program that waits to send is woken when enough of the buffer is free, and the buffer cannot be larger.
        largest |= free & (span >= WOKEN_SHARE * buffered)
        blocked &= ~largest
    opening = _opens(acks) & ~largest & ~hole
    unnamed = free & ~blocked & ~largest
    return (opening, blocked & opening, blocked & ~opening & ~largest, largest, hole, unnamed), lasted_us


def _send_buffer_bytes(run: Run, flow: Flow) -> int:
    """The buffer of a flow's sender, which the plan sized for eight bandwidth-delay products."""
    sysctls = next(dict(node.sysctls) for node in run.nodes if node.name == flow.from_node)
    return int(sysctls["net/ipv4/tcp_wmem"].split()[-1])


def _paced(acks: Records, free: Flags, t_ns: Floats, lasted_us: Floats, mss: int) -> Flags:
    """
    Whether a sender's last packets used its whole pacing rate, while no other limit applied. A sender that is not paced
    has a rate above its window's.
    """
    rate = np.maximum(acks["pacing_Bps"].astype(np.float64), 1)
    # Every sent packet is in flight, has arrived, or is considered lost: also a retransmitted one.
    sent = (acks["delivered"].astype(np.float64) + acks["inflight"] + acks["lost"]) * mss
    sent, allowed = (np.cumsum(free * one) for one in (np.diff(sent, prepend=0.0), rate * lasted_us / 1e6))
    since = np.searchsorted(t_ns, t_ns - _PACED_PACKETS * mss / rate * 1e9)
    since = np.minimum(since, np.arange(len(acks)) - 1)
    # No packet was sent before the first record.
    sent_before, allowed_before = (np.where(since >= 0, one[since], 0) for one in (sent, allowed))
    # The next packet is due when the whole of it is allowed.
    share = np.where(lasted_us > acks["srtt_us"], _PACED_SHARE * _UNSEEN_GAIN, _PACED_SHARE)
    nearly = sent - sent_before + mss >= share * (allowed - allowed_before)
    # A rate that fills less than the window in a round trip is the limit, whichever it was before (BBR's gains change it).
    window = acks["cwnd"].astype(np.float64) * mss
    return np.asarray(nearly | (rate * acks["srtt_us"].astype(np.float64) / 1e6 < _WINDOW_SHARE * window))
