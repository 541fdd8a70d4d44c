"""How much a run has in flight at most: its path, its queues and what its flows ask for. Socket buffers and memory are sized for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longhaul.orchestrator.plan.kernel_modules import WINDOW_PARAMETER
from longhaul.orchestrator.plan.link_parameters import HEADER_BYTES, LaneState, Path
from longhaul.orchestrator.plan.placement import Placement
from longhaul.orchestrator.plan.qdiscs import FRAME_HEADER_BYTES
from longhaul.orchestrator.plan.run import Flow
from longhaul.orchestrator.plan.tcp_settings import LARGEST_WINDOW_BYTES, Pipe
from longhaul.orchestrator.spec.congestion_controls import module_params, pacing_bps
from longhaul.orchestrator.spec.model import Experiment

# The frame of an acknowledgement.
_ACK_BYTES = FRAME_HEADER_BYTES + HEADER_BYTES
# The rate assumed for a path without any.
_FASTEST_BPS = 10**11


def find_pipe(experiment: Experiment, placement: Placement, path: Path) -> Pipe:
    """The most packets that any flow's path and its queues contain, at any time, and that a flow is requested to have in flight."""
    asked_packets, asked_bps = _asked(experiment, placement)
    packets = asked_packets // 2
    for state in path.states:
        frame_bytes = state.mtu + FRAME_HEADER_BYTES
        for journey in dict.fromkeys(placement.journeys):
            lanes = [state.lanes[lane] for lane in journey.forward]
            own_us = placement.options[journey.sender].rtt_us
            longest_us = max(state.rtt_us(journey), own_us or 0)
            rates = [lane.rate_bps for lane in lanes if lane.rate_bps is not None]
            queued = sum(lane.buffer.packets for lane in lanes if lane.buffer is not None)
            flying = min(rates, default=_FASTEST_BPS) * longest_us // (8_000_000 * frame_bytes)
            asked = min(asked_bps * longest_us // 8_000_000, LARGEST_WINDOW_BYTES) // frame_bytes
            packets = max(packets, flying + queued, asked // 2)
            # Buffers are eight times this: acknowledgements that wait longer than half of that matter too.
            waiting_us = _waiting_us(state.lanes[lane] for lane in journey.back)
            stretched = min(rates, default=0) * (longest_us + waiting_us) // (8_000_000 * frame_bytes) + queued
            packets = max(packets, stretched if stretched > 4 * (flying + queued) else 0)
    return Pipe(packets, experiment.path.mtu)


def _waiting_us(lanes: Iterable[LaneState]) -> int:
    """How long acknowledgements wait in full queues of these lanes."""
    full = ((lane.rate_bps, lane.buffer) for lane in lanes)
    return sum(
        (buffer.size_bytes if buffer.in_bytes else buffer.packets * _ACK_BYTES) * 8_000_000 // bps
        for bps, buffer in full
        if bps is not None and buffer is not None
    )


def count_offered(flows: Sequence[Flow], path: Path, placement: Placement, duration_us: int) -> int:
    """The most packets of UDP in the delays of the path: no queue refuses them before they have passed those."""
    bps = sum(flow.rate_bps for flow in flows if flow.kind == "udp")
    delay_us = max(state.delay_us(journey.forward) for state in path.states for journey in placement.journeys)
    frame_bytes = min(state.mtu for state in path.states) + FRAME_HEADER_BYTES
    return bps * min(delay_us, duration_us) // (8_000_000 * frame_bytes)


def _asked(experiment: Experiment, placement: Placement) -> tuple[int, int]:
    """The largest window of the experiment, the first one of a connection or a constant one, and the largest rate."""
    packets, bps = max((options.initial_window for options in placement.options.values()), default=0), 0
    for flow in experiment.flows:
        if flow.kind != "udp":
            control = experiment.control(flow.cc)
            packets = max(packets, int(module_params(control, flow.params).get(WINDOW_PARAMETER, 0)))
            bps = max(bps, pacing_bps(control, flow.params) or 0)
    return packets, bps
