"""Hand-made Runs over a shared 802.11 channel, and their traces.

    s1 === w1 --\\                        s: a station's host, TCP's end      w: its radio, which routes
    s2 === w2 ---- [bridge air] -- b === d     b: the base station's, which routes    d: a host behind it
    s3 === w3 --/

The radios w1, w2, ... and b are the transmitters; their devices towards `air` have the queues. Wires have neither rate nor delay.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.evaluation import judge
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.qdiscs import DCF_MODULE, RATE, Aggregation, Medium, dcf, share_2p32
from longhaul.orchestrator.plan.run import (
    End,
    Flow,
    FlowOptions,
    Link,
    Module,
    Neighbour,
    Node,
    Qdisc,
    Route,
    Run,
    Wire,
)
from longhaul.orchestrator.plan.seeds import derive_seed
from longhaul.orchestrator.plan.wifi_airtime import Channel
from longhaul.orchestrator.plan.wifi_airtime_ht import HtChannel
from longhaul.orchestrator.system.settings import Settings
from tests.support.guests import Finished, experiment

MTU = 1052  # 1000 bytes of payload, with timestamps
HEADERS = 52
UDP_HEADERS = 28
MEGABIT = Channel(1_000_000, 1_000_000, rts=True)

_LIMIT_PACKETS = 50
_FIRST_PORT = 10_000


Execute = Callable[[Run], Finished]


@pytest.fixture
def execute_run(settings: Settings, tmp_path: Path) -> Execute:
    numbers = count()
    return lambda run: execute(run, settings, tmp_path / str(next(numbers)))


def with_delayed_acks(run: Run) -> Run:
    """The run with receivers that acknowledge every second segment, the default of Linux."""
    return replace(run, routes=tuple(replace(route, quickack=False) for route in run.routes))


def wireless_run(
    flows: Sequence[Flow],
    *,
    stations: int = 1,
    channel: Channel | HtChannel = MEGABIT,
    duration_s: int = 60,
    limit: int = _LIMIT_PACKETS,
    frame_loss: float = 0,
    **more: Any,
) -> Run:
    """A Run of these flows; `limit` is each transmitter's, `frame_loss` one of an HtChannel; `more` replaces fields of it."""
    path = {"bandwidth": "1 Mbit/s", "rtt": "10 ms", "buffer": "50 packets", "mtu": MTU}
    (base,) = compile_plan(experiment(path=path)).runs
    end = next(node for node in base.nodes if node.name == base.flows[0].to_node)
    names = [f"s{number}" for number in range(1, stations + 1)]
    wires = [_wire(0, ("d", "10.0.0.1/24"), ("b", "10.0.0.2/24"))]
    wires += [_wire(n, (name, f"10.{n}.0.1/24"), (f"w{n}", f"10.{n}.0.2/24")) for n, name in enumerate(names, 1)]
    radios = [("b", "10.100.0.1/16"), *((f"w{n}", f"10.100.0.{n + 1}/16") for n in range(1, stations + 1))]
    for number, radio in enumerate(radios):
        near, far = _wire(100 + number, radio, ("air", None)).ends
        queue = transmitter(channel, radio[0], base.seed, limit, frame_loss)
        wires.append(Wire((replace(near, qdiscs=(queue,)), replace(far, behind=(near.mac,)))))
    router = (("net/ipv4/ip_forward", "1"),)
    return replace(
        base,
        duration_us=duration_s * 1_000_000,
        window_us=(0, duration_s * 1_000_000),
        nodes=(
            *(Node(name, False, end.sysctls) for name in ("d", *names)),
            *(Node(name, False, router) for name, _ in radios),
            Node("air", True, ()),
        ),
        wires=tuple(wires),
        neighbours=tuple(_neighbours(wires)),
        routes=tuple(_routes(stations)),
        links=tuple(
            Link(n, name, name, f"{name}-air", RATE, channel.rate_bps, 0, limit, 0)
            for n, (name, _) in enumerate(radios)
        ),
        modules=(Module(DCF_MODULE, {}),),
        flows=tuple(replace(flow, id=n, port=_FIRST_PORT + n) for n, flow in enumerate(flows)),
        **more,
    )


def transmitter(
    channel: Channel | HtChannel, name: str, seed: int, limit: int = _LIMIT_PACKETS, frame_loss: float = 0
) -> Qdisc:
    """The queue of a radio; all but the base station's send to one receiver."""
    medium = Medium(1, channel.rate_bps, channel.basic_rate_bps, channel.rts, channel.overhead_bytes)
    aggregation = (
        Aggregation(channel.aggregate, name != "b", share_2p32(frame_loss)) if isinstance(channel, HtChannel) else None
    )
    return dcf(medium, limit, below_netem=False, seed=derive_seed(seed, f"radio {name}"), aggregation=aggregation)


def tcp(sender: str, receiver: str, *, cc: str = "reno", start_us: int = 0) -> Flow:
    return _flow("tcp", cc, sender, receiver, start_us)


def udp(sender: str, receiver: str, rate_bps: int, payload_bytes: int = 1000) -> Flow:
    return replace(_flow("udp", None, sender, receiver, 0), rate_bps=rate_bps, payload_bytes=payload_bytes)


def _flow(kind: str, cc: str | None, sender: str, receiver: str, start_us: int) -> Flow:
    name = f"{sender}-{receiver}"
    paths = (_devices(sender, receiver), _devices(receiver, sender))
    options = FlowOptions()
    return Flow(
        0, name, kind, cc, cc, sender, receiver, _address(receiver), 0, start_us, None, None, options, 1, *paths
    )  # fmt: skip


def _devices(sender: str, receiver: str) -> tuple[str, ...]:
    """The devices from which a packet leaves."""
    radio, other = (("b" if host == "d" else f"w{host[1:]}") for host in (sender, receiver))
    return (f"{sender}-{radio}", f"{radio}-air", f"air-{other}", f"{other}-{receiver}")


def execute(run: Run, settings: Settings, directory: Path) -> Finished:
    """Run it in a guest and apply the fidelity checks of every run."""
    directory.mkdir()
    (directory / "run.json").write_text(json.dumps(run.as_json()))
    cost = open_backend("sandbox", settings).run(run, directory, lambda virtual_ns: None)
    document, trace = judge(run, directory.name, directory, cost)
    return Finished(document, run, trace, json.loads((directory / "facts.json").read_text()))


def radios(done: Finished) -> dict[str, dict[str, Any]]:
    """The read-back queue of each transmitter."""
    return {
        device["node"]: qdisc
        for device in done.facts["devices"]
        for qdisc in device["qdiscs"]
        if qdisc["kind"] == "lh_dcf"
    }


def goodputs_bps(done: Finished, from_s: int, to_s: int) -> list[float]:
    """The rate at which the receiver of each flow got data between two instants."""
    found = []
    for flow in done.run.flows:
        records = done.trace.flows[done.trace.flows["id"] == flow.id]
        times = records["t_ns"] / 1e9
        first, last = (records["app_bytes"][max(int((times <= at).sum()) - 1, 0)] for at in (from_s, to_s))
        found.append((int(last) - int(first)) * 8 / (to_s - from_s))
    return found


def _address(host: str) -> str:
    return f"10.{0 if host == 'd' else int(host[1:])}.0.1"


def _wire(number: int, *sides: tuple[str, str | None]) -> Wire:
    (one, _), (other, _) = sides
    first, second = (
        End(node, f"{node}-{peer}", f"02:00:00:00:{number:02x}:{place:02x}", address, MTU)
        for place, ((node, address), peer) in enumerate(zip(sides, (other, one), strict=True), 1)
    )
    return Wire((first, second))


def _neighbours(wires: Sequence[Wire]) -> list[Neighbour]:
    """Neighbour entries of both ends of each wire, and of the base station with each radio."""
    pairs = [wire.ends for wire in wires if wire.ends[1].node != "air"]
    base, *others = (wire.ends[0] for wire in wires if wire.ends[1].node == "air")
    pairs += [(base, radio) for radio in others]
    return [
        Neighbour(end.node, end.dev, (other.address or "").partition("/")[0], other.mac)
        for pair in pairs
        for end, other in (pair, pair[::-1])
    ]


def _routes(stations: int) -> list[Route]:
    routes = []
    for n in range(1, stations + 1):
        routes += [
            Route(f"s{n}", "10.0.0.0/24", f"10.{n}.0.2", quickack=True),
            Route(f"w{n}", "10.0.0.0/24", "10.100.0.1"),
            Route("b", f"10.{n}.0.0/24", f"10.100.0.{n + 1}"),
            Route("d", f"10.{n}.0.0/24", "10.0.0.2", quickack=True),
        ]
    return routes


def queue_of(run: Run, radio: str) -> Qdisc:
    """A radio's transmitter."""
    return next(qdisc for end in run.ends if end.node == radio for qdisc in end.qdiscs)


def with_qdiscs(run: Run, dev: str, *qdiscs: Qdisc) -> Run:
    """The Run with the queues of a device replaced by these."""

    def changed(end: End) -> End:
        return replace(end, qdiscs=qdiscs) if end.dev == dev else end

    return replace(run, wires=tuple(Wire((changed(wire.ends[0]), changed(wire.ends[1]))) for wire in run.wires))
