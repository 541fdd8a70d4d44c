"""Shared 802.11 channels: links of a medium with a common node are one channel, and each lane with a rate on it is a
transmitter (docs/wireless.md).

    w1 --- base ~~~ air ~~~ m1      base>air, m1>air and m2>air are three transmitters of channel 1
                     `~~~~~ m2

A packet's receiver is the node behind `air`: base for what the stations send, and m1 or m2 for what base sends.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from longhaul.orchestrator.plan.link_parameters import LaneState, PathState
from longhaul.orchestrator.plan.placement import Journey
from longhaul.orchestrator.plan.qdiscs import Aggregation, Medium, dcf, share_2p32
from longhaul.orchestrator.plan.run import Qdisc
from longhaul.orchestrator.plan.seeds import derive_seed
from longhaul.orchestrator.plan.wifi_airtime import OVERHEAD_BYTES
from longhaul.orchestrator.plan.wifi_airtime_ht import (
    CONTROL_RATE_BPS,
    HT_OVERHEAD_BYTES,
    LARGEST_PACKET_BYTES,
    MOST_STREAMS,
    PPDU_US,
    STREAM_BPS,
    SYMBOLS_PER_S,
    HtChannel,
)
from longhaul.orchestrator.spec.graph import WIFI_N, Carriage, Graph, Lane
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_rate

# RTS, CTS and ACK are sent as slowly as the slowest station of the DSSS PHY can hear.
_BASIC_RATE_BPS = 1_000_000
_FASTEST_BPS = STREAM_BPS * MOST_STREAMS


@dataclass(frozen=True, slots=True)
class Sender:
    """A lane on a channel, by its number, and what it aggregates there, if that is one of 802.11n."""

    channel: int
    aggregation: Aggregation | None


def find_channels(graph: Graph) -> dict[Lane, int]:
    """The number of each lane's channel, from 1, for the lanes on one."""
    of_node: dict[str, int] = {}
    links = [link for link in graph.links if any(graph.lanes[lane].medium for lane in (link, link[::-1]))]
    for number, link in enumerate(links, 1):
        joined = {of_node.setdefault(node, number) for node in link}
        of_node = {node: min(joined) if known in joined else known for node, known in of_node.items()}
    places = {number: place for place, number in enumerate(dict.fromkeys(of_node.values()), 1)}
    return {lane: places[of_node[lane[0]]] for lane in graph.lanes if graph.lanes[lane].medium}


def find_senders(graph: Graph, channels: Mapping[Lane, int], journeys: Iterable[Journey]) -> dict[Lane, Sender]:
    """Each lane on a channel as a sender."""
    receivers: dict[Lane, set[str]] = {}
    for journey in journeys:
        for lanes in (journey.forward, journey.back):
            for lane, onward in zip(lanes, (*lanes[1:], None), strict=True):
                if lane in channels:
                    receivers.setdefault(lane, set()).add(_receiver(channels, lane, onward))
    senders = {}
    for lane, number in channels.items():
        aggregation = _aggregation(graph.lanes[lane], one_receiver=len(receivers.get(lane, ())) < 2)
        senders[lane] = Sender(number, aggregation)
    return senders


def _receiver(channels: Mapping[Lane, int], lane: Lane, onward: Lane | None) -> str:
    """The far end of the link, or, where that is the air between the stations, the station behind it."""
    if onward is not None and channels[lane] in (channels.get(onward), channels.get(onward[::-1])):
        return onward[1]
    return lane[1]


def _aggregation(carriage: Carriage, *, one_receiver: bool) -> Aggregation | None:
    if carriage.aggregate is None:
        return None
    return Aggregation(carriage.aggregate, one_receiver, share_2p32(carriage.frame_loss))


def check_channels(graph: Graph, channels: Mapping[Lane, int], states: Sequence[PathState]) -> None:
    """PlanError if the transmitters of a channel differ in PHY or, at one time, in rate, or if that is not one of the PHY."""
    of_channel: dict[int, Lane] = {}
    for lane, number in channels.items():
        other = of_channel.setdefault(number, lane)
        media = [graph.lanes[one].medium for one in (other, lane)]
        if media[0] != media[1]:
            listed = " and ".join(f"{'-'.join(one)} {medium}" for one, medium in zip((other, lane), media, strict=True))
            what = f"they share one channel, which has one medium: {listed}"
            raise PlanError("compiling", "topology", what, "give every link of the channel the same medium")
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
            if graph.lanes[lane].medium == WIFI_N:
                _check_ht("-".join(lane), rates[1] or 0, state.mtu)


def _check_ht(name: str, rate_bps: int, mtu: int) -> None:
    """A rate of whole bits in a symbol, and packets that a frame can carry in the time that it may take."""
    if not rate_bps or rate_bps % SYMBOLS_PER_S or rate_bps > _FASTEST_BPS:
        what = f"{name} sends on an {WIFI_N} channel, in symbols of 4 us with a whole number of bits, which {format_rate(rate_bps)} does not give"
        raise PlanError(
            "compiling", "bandwidth", what, f"give a multiple of 250 kbit/s up to {format_rate(_FASTEST_BPS)}"
        )
    if mtu > LARGEST_PACKET_BYTES:
        what = f"{name} sends on an {WIFI_N} channel, whose frames carry packets of up to {LARGEST_PACKET_BYTES} bytes, not {mtu}"
        raise PlanError("compiling", "path.mtu", what, f"give an mtu of at most {LARGEST_PACKET_BYTES}")
    channel = HtChannel(rate_bps)
    if (time_us := channel.data_us(mtu + channel.overhead_bytes)) > PPDU_US:
        what = f"{name} sends on an {WIFI_N} channel, where a packet of {mtu} bytes takes {time_us} us at {format_rate(rate_bps)} and may take {PPDU_US}"
        raise PlanError("compiling", "bandwidth", what, "give a higher rate or a lower mtu")


def transmitter(
    state: LaneState, start: LaneState, sender: Sender, name: str, seed: int, *, below_netem: bool
) -> Qdisc:
    """A lane's rate and queue, as one of a channel's; the basic rate is the start's, because it cannot change."""
    assert state.rate_bps is not None and start.rate_bps is not None and state.buffer is not None
    if state.queue != "droptail":
        what = f"{name} sends on a shared channel, whose queues are droptail, not {state.queue}"
        raise PlanError("compiling", "queue", what, "leave queue out for this link")
    if state.buffer.in_bytes:
        what = f"{name} sends on a shared channel, whose queues count packets, not {state.buffer.text}"
        raise PlanError("resolving", "buffer", what, "give it in packets or BDP")
    if sender.aggregation is None:
        basic_rate_bps = min(_BASIC_RATE_BPS, start.rate_bps)
        medium = Medium(sender.channel, state.rate_bps, basic_rate_bps, rts=True, overhead_bytes=OVERHEAD_BYTES)
    else:
        medium = Medium(sender.channel, state.rate_bps, CONTROL_RATE_BPS, rts=False, overhead_bytes=HT_OVERHEAD_BYTES)
    return dcf(
        medium,
        state.buffer.packets,
        below_netem=below_netem,
        seed=derive_seed(seed, f"backoff {name}"),
        aggregation=sender.aggregation,
    )
