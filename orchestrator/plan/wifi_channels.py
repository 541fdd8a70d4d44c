"""Shared 802.11 channels: links of a medium with a common node are one channel, and each lane with a rate on it is a
transmitter (docs/wireless.md).

    w1 --- base ~~~ air ~~~ m1      base>air, m1>air and m2>air are three transmitters of channel 1
                     `~~~~~ m2
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from longhaul.orchestrator.plan.link_parameters import LaneState, PathState
from longhaul.orchestrator.plan.qdiscs import Medium, dcf
from longhaul.orchestrator.plan.run import Qdisc
from longhaul.orchestrator.plan.seeds import derive_seed
from longhaul.orchestrator.plan.wifi_airtime import OVERHEAD_BYTES
from longhaul.orchestrator.spec.graph import Graph, Lane
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.units import format_rate

# RTS, CTS and ACK are sent as slowly as the slowest station of the DSSS PHY can hear.
_BASIC_RATE_BPS = 1_000_000


def find_channels(graph: Graph) -> dict[Lane, int]:
    """The number of each lane's channel, from 1, for the lanes on one."""
    of_node: dict[str, int] = {}
    links = [link for link in graph.links if any(graph.lanes[lane].medium for lane in (link, link[::-1]))]
    for number, link in enumerate(links, 1):
        joined = {of_node.setdefault(node, number) for node in link}
        of_node = {node: min(joined) if known in joined else known for node, known in of_node.items()}
    places = {number: place for place, number in enumerate(dict.fromkeys(of_node.values()), 1)}
    return {lane: places[of_node[lane[0]]] for lane in graph.lanes if graph.lanes[lane].medium}


def check_channels(channels: Mapping[Lane, int], states: Sequence[PathState]) -> None:
    """PlanError if the transmitters of a channel have different rates at one time."""
    for state in states:
        first: dict[int, Lane] = {}
        for lane, number in channels.items():
            other = first.setdefault(number, lane)
            rates = [state.lanes[one].rate_bps for one in (other, lane)]
            if rates[0] != rates[1]:
                listed = " and ".join(
                    f"{'-'.join(one)} {format_rate(rate or 0)}" for one, rate in zip((other, lane), rates, strict=True)
                )
                what = f"they share one channel, which has one rate: {listed}"
                raise PlanError("compiling", "links", what, "give every link of the channel the same bandwidth")


def transmitter(state: LaneState, start: LaneState, channel: int, name: str, seed: int, *, below_netem: bool) -> Qdisc:
    """A lane's rate and queue, as one of a channel's; the basic rate is the start's, because it cannot change."""
    assert state.rate_bps is not None and start.rate_bps is not None and state.buffer is not None
    if state.queue != "droptail":
        what = f"{name} sends on a shared channel, whose queues are droptail, not {state.queue}"
        raise PlanError("compiling", "queue", what, "leave queue out for this link")
    if state.buffer.in_bytes:
        what = f"{name} sends on a shared channel, whose queues count packets, not {state.buffer.text}"
        raise PlanError("resolving", "buffer", what, "give it in packets or BDP")
    basic_rate_bps = min(_BASIC_RATE_BPS, start.rate_bps)
    medium = Medium(channel, state.rate_bps, basic_rate_bps, rts=True, overhead_bytes=OVERHEAD_BYTES)
    return dcf(medium, state.buffer.packets, below_netem=below_netem, seed=derive_seed(seed, f"backoff {name}"))
