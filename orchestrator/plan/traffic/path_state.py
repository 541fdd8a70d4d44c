"""The path of a flow at one moment of a run: its round trip, rate, room and losses, from the queues that the plan has then."""

from __future__ import annotations

import math

from longhaul.orchestrator.plan.qdiscs import DELAYS, LINK
from longhaul.orchestrator.plan.run import Flow, Qdisc, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_LEAST_RTT_S = 50e-6
_2_32 = 2**32
# Queues that keep their delay near a target, in seconds: a loss-based control backs off at about this much.
_AQM_DELAY_S = {"codel": 0.02, "fq_codel": 0.02, "cake": 0.02, "pie": 0.03, "red": 0.05, "dualpi2": 0.03}


@dataclass(frozen=True, slots=True)
class PathNumbers:
    """Round trip without queues; packets a second, and whether ACKs limit them; packets of room; shares of losses there and back, and of
    packets that overtake others; whether nothing passes."""

    base_s: float
    capacity: float
    by_acks: bool
    limit: float
    lossy: float
    back_lossy: float
    reordered: float
    dark: bool


class PathState:
    """The devices of a run at one moment."""

    def __init__(self, run: Run, at_s: float) -> None:
        self._run = run
        self._frame_bits = 8.0 * (run.meaning.frame_bytes - run.meaning.mtu + run.least_mtu)
        self._qdiscs: dict[str, dict[str, Qdisc]] = {
            end.dev: {qdisc.kind: qdisc for qdisc in end.qdiscs} for end in run.ends if end.qdiscs
        }
        for change in run.device_changes:
            if change.at_us / 1e6 <= at_s:
                self._qdiscs.setdefault(change.dev, {}).update({qdisc.kind: qdisc for qdisc in change.qdiscs})

    def path(self, flow: Flow) -> PathNumbers:
        base_s, passed, back_passed, limit, reordered = 0.0, 1.0, 1.0, math.inf, 0.0
        forward_rate = back_rate = math.inf
        jitters_s: list[float] = []
        for dev in (*flow.forward, *flow.back):
            forward = dev in flow.forward
            for qdisc in self._qdiscs.get(dev, {}).values():
                options = qdisc.options
                if qdisc.kind in DELAYS:
                    base_s += _number(options.get("delay_ns")) / 1e9
                    if qdisc.kind == LINK or options.get("keep_order"):
                        jitters_s.append(_number(options.get("jitter_ns")) / 1e9)
                    share = loss_share(qdisc)
                    if forward:
                        reordered = max(reordered, _number(options.get("reorder_2p32")) / _2_32)
                        passed *= 1 - share
                    else:
                        back_passed *= 1 - share
                rate = _number(options.get("rate_bps"))
                if rate and forward:
                    forward_rate = min(forward_rate, rate / self._frame_bits)
                elif rate:
                    # One ACK for two packets, in frames of 66 bytes.
                    back_rate = min(back_rate, 2 * rate / (8 * 66))
        capacity = min(forward_rate, back_rate)
        for link in self._run.links:
            if link.dev in flow.forward:
                packets = link.queue_limit_packets or link.queue_limit_bytes * 8 / self._frame_bits
                if link.queue in _AQM_DELAY_S and capacity < math.inf:
                    packets = min(packets, max(4.0, _AQM_DELAY_S[link.queue] * capacity))
                limit = min(limit, packets)
        if limit == math.inf:
            limit = float(self._run.meaning.buffer_packets)
        dark = passed < 0.3 or back_passed < 0.05
        if capacity < math.inf:
            # Packets keep their order, so each waits for the latest of those within the jitter: of n, its mean is (n - 1) / (n + 1).
            base_s += sum(jitter_s * max(0.0, 1 - 2 / (capacity * jitter_s + 1)) for jitter_s in jitters_s)
        return PathNumbers(max(base_s, _LEAST_RTT_S), capacity, back_rate < forward_rate, max(1.0, limit),
                           1 - passed, 1 - back_passed, reordered, dark)  # fmt: skip


def _number(value: object) -> float:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else 0.0


def loss_share(qdisc: Qdisc) -> float:
    """All that a link takes, in the long run: random losses, bursts, and broken packets, which the receiver drops."""
    options = qdisc.options
    share = 1 - (1 - _number(options.get("loss_2p32")) / _2_32) * (1 - _number(options.get("corrupt_2p32")) / _2_32)
    burst = options.get("gemodel_2p32")
    if isinstance(burst, tuple):
        # The kernel has the share that passes in the bad state, and the share that is lost in the good one.
        into, out, passes, lost = (number / _2_32 for number in burst)
        bad = into / (into + out) if into + out > 0 else 0.0
        share = 1 - (1 - share) * (1 - bad * (1 - passes) - (1 - bad) * lost)
    return share
