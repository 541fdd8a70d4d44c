"""The run of a user's Mininet script: as it is requested, and as it was observed once it has ended.

A script has no plan: which hosts, links and connections it makes is known afterwards. The id of its run is that of the request.

    request_script(...) -> Run without flows --guest--> lh_connections, names of hosts --observe--> Run, trace.bin, facts.json

A flow is what goes one way between two hosts and a port: connections that follow one another are one flow, those at the same time several.
"""

from __future__ import annotations

import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.plan.meaning import Meaning, Script
from longhaul.orchestrator.plan.run import (
    FORMAT,
    DeviceChange,
    Flow,
    FlowOptions,
    Link,
    Node,
    Qdisc,
    Run,
    TraceOptions,
)
from longhaul.orchestrator.spec.model import PROGRAM
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.connections import (
    Connection,
    End,
    Observed,
    last_received_ns,
    read_observed,
    write_trace,
)
from longhaul.orchestrator.trace.records import KIND_NUMBERS, TRACE_KINDS

# Written by mininet_script.py.
NODES = "nodes.lines"

_MEMORY_MB = 1024
_TICK_US = 10_000
_MTU, _ETHERNET_BYTES, _HEADERS_BYTES = 1500, 14, 52
# The direction with fewer bytes is a flow too from here on: a request is none, a transfer both ways is two.
_A_FLOW_BYTES = 65_536
# A TCP that has measured none.
_NO_RTT = 2**32 - 1
_ROOT = "root"
_KEEPING = "keeping the run of"
_NO_NAME = re.compile(r"[^a-z0-9-]+")
_LONGEST_NAME = 48


class NothingToKeep(BackendError):
    """A script made nothing that a run could have."""


def request_script(
    file: Path, text: str, arguments: Sequence[str], folder: Path, *, kernel: str, seed: int, clock: str, asked_at: str
) -> Run:
    """The run of a script that starts in a folder. In real time no two runs are the same one, so it has the time of its request."""
    return Run(
        format=FORMAT,
        experiment=_experiment_name(file.name),
        backend="mininet",
        where="guest",
        clock=clock,
        kernel=kernel,
        seed=seed,
        point={},
        duration_us=0,
        window_us=(0, 0),
        memory_mb=_MEMORY_MB,
        sysctls=(),
        nodes=(),
        wires=(),
        neighbours=(),
        routes=(),
        links=(),
        modules=(),
        flows=(),
        schedule=(),
        trace=TraceOptions(0, _TICK_US),
        expect=(),
        meaning=_meaning(0, 0, _MTU - _HEADERS_BYTES),
        asked_at=asked_at if clock == "real" else "",
        script=Script(str(file), text, tuple(arguments), str(folder)),
    )


def _experiment_name(name: str) -> str:
    plain = _NO_NAME.sub("-", name.removesuffix(".py").lower()).strip("-")[:_LONGEST_NAME].strip("-")
    return plain if plain[:1].isalpha() else f"script-{plain}".strip("-")


def _meaning(rate_bps: int, rtt_us: int, mss: int) -> Meaning:
    frame = _MTU + _ETHERNET_BYTES
    return Meaning(
        about="",
        topology="script",
        bandwidth_bps=rate_bps,
        rtt_us=rtt_us,
        forward_us=rtt_us // 2,
        reverse_us=rtt_us - rtt_us // 2,
        mtu=_MTU,
        frame_bytes=frame,
        mss_bytes=mss,
        bdp_bytes=rate_bps * rtt_us // 8_000_000,
        bdp_packets=rate_bps * rtt_us // 8_000_000 // frame,
        queue="the script's own",
        buffer_text="the script's own",
        buffer_packets=0,
        buffer_bytes=0,
        aggregate="mean",
    )


@dataclass(slots=True)
class _Way:
    """One flow: what some connections carried from one of their ends."""

    source: str
    target: str
    port: int
    to_opener: bool
    parts: list[tuple[Connection, int]] = field(default_factory=list)

    @property
    def senders(self) -> list[End]:
        return [connection.ends[sender] for connection, sender in self.parts]

    @property
    def receivers(self) -> list[End]:
        return [connection.ends[1 - sender] for connection, sender in self.parts]

    def is_free_at(self, opened_ns: int) -> bool:
        """Whether its last connection had ended then."""
        last = self.parts[-1][0]
        return 0 < last.closed_ns <= opened_ns


def observe(request: Run, guest: Path, directory: Path, release: str) -> Run:
    """The run as it was: writes trace.bin and facts.json into the run's directory. NothingToKeep, TraceError."""
    assert request.script is not None
    observed = read_observed(guest, request.experiment)
    if any(observed.missed):
        what = "it made more than 32,768 connections, or had queues at more than 256 devices"
        raise NothingToKeep(_KEEPING, request.experiment, what, "shorten it")
    ways = _ways(observed, _Names(guest / NODES, observed.began_ns))
    devices = _busiest_first(observed)
    if not ways or not devices:
        lacking = (
            "TCP connection between two hosts"
            if not ways
            else "device with a queue (a link with bw, delay or loss, or tc)"
        )
        raise NothingToKeep(_KEEPING, request.experiment, f"it had no {lacking}", "a run needs both")
    rates = {observed.queues[queue]: _rates(changes) for queue, changes in observed.rates.items()}
    links = tuple(
        Link(number, name, name.rpartition("-")[0] or _ROOT, name, _ROOT, rates.get(name, [(0, 0)])[0][1], 0, 0, 0)
        for number, name in enumerate(devices)
    )
    records = _write_trace(directory / "trace.bin", observed, ways, links)
    flows = tuple(_flow(number, name, way) for number, (name, way) in enumerate(zip(_named(ways), ways, strict=True)))
    last_ns = last_received_ns(observed)
    facts = {
        "kernel": release,
        "trace": {"records": records},
        "flows": [_fact(flow, way, last_ns) for flow, way in zip(flows, ways, strict=True)],
    }
    (directory / "facts.json").write_text(json.dumps(facts))
    length_us = -(-observed.end_ns // 1000)
    hosts = {name for way in ways for name in (way.source, way.target)}
    return replace(
        request,
        duration_us=length_us,
        window_us=(0, length_us),
        nodes=tuple(Node(name, bridge=False, sysctls=()) for name in sorted(hosts)),
        links=links,
        flows=flows,
        schedule=tuple(_changes(links, rates)),
        meaning=_meaning(
            links[0].rate_bps,
            min((end.least_rtt_us for way in ways for end in way.senders if end.least_rtt_us != _NO_RTT), default=0),
            max(end.mss for way in ways for end in way.senders),
        ),
    )


class _Names:
    """Names of hosts by their network namespaces. The number of one that is gone is used again, by a host of the script's next net."""

    def __init__(self, file: Path, began_ns: int) -> None:
        lines = [line.split(maxsplit=2) for line in file.read_text().splitlines()] if file.is_file() else []
        self._began = [(int(at_ns) - began_ns, int(namespace), name) for at_ns, namespace, name in reversed(lines)]

    def of(self, end: End, at_ns: int) -> str:
        """The host that had this end of a connection at a time; its address outside of Mininet's hosts."""
        return next((name for ns, space, name in self._began if space == end.namespace and ns <= at_ns), end.address)


def _ways(observed: Observed, names: _Names) -> list[_Way]:
    """The flows, in the order in which they began."""
    ways: dict[tuple[str, str, int, bool], list[_Way]] = {}
    for connection in sorted(observed.connections, key=lambda one: (one.opened_ns, one.number)):
        hosts = [names.of(end, connection.opened_ns) for end in connection.ends]
        for sender in _measured_ends(connection):
            pair = hosts[sender], hosts[1 - sender], connection.ends[1].port, bool(sender)
            known = ways.setdefault(pair, [])
            way = next((one for one in known if one.is_free_at(connection.opened_ns)), None)
            if way is None:
                known.append(way := _Way(*pair))
            way.parts.append((connection, sender))
    return sorted(itertools.chain(*ways.values()), key=lambda way: way.parts[0][0].opened_ns)


def _measured_ends(connection: Connection) -> Iterator[int]:
    """The ends whose data is a flow: the one that sent more, and the other one if it sent much."""
    carried = [connection.ends[1].received, connection.ends[0].received]
    more = 0 if carried[0] >= carried[1] else 1
    if carried[more]:
        yield more
    if carried[1 - more] > _A_FLOW_BYTES:
        yield 1 - more


def _named(ways: Sequence[_Way]) -> Iterator[str]:
    """h1-h2-5001, and h1-h2-5001-2 for another one at the same time."""
    count: Counter[str] = Counter()
    for way in ways:
        name = f"{way.source}-{way.target}-{way.port}"
        count[name] += 1
        yield name if count[name] == 1 else f"{name}-{count[name]}"


def _write_trace(path: Path, observed: Observed, ways: Sequence[_Way], links: Sequence[Link]) -> int:
    numbers: dict[int, int] = {}
    earlier: dict[int, int] = {}
    for number, way in enumerate(ways):
        before = 0
        for connection, sender in way.parts:
            direction = connection.direction(sender)
            numbers[direction], earlier[direction] = number, before
            before += connection.ends[1 - sender].received
    link_of = {link.dev: link.id for link in links}
    queues = {number: link_of[name] for number, name in observed.queues.items() if name in link_of}
    return write_trace(path, observed, numbers, earlier, queues)


def _flow(number: int, name: str, way: _Way) -> Flow:
    control = way.senders[-1].control
    return Flow(
        id=number,
        name=name,
        kind=PROGRAM,
        cc=control,
        variant=control,
        from_node=way.source,
        to_node=way.target,
        address=way.receivers[-1].address,
        port=way.port,
        start_us=way.parts[0][0].opened_ns // 1000,
        stop_us=None,
        bytes=None,
        options=FlowOptions(),
        seed=0,
        forward=(),
        back=(),
    )


def _fact(flow: Flow, way: _Way, last_ns: NDArray[np.uint64]) -> dict[str, Any]:
    """A flow is active until its last bytes have arrived."""
    ended_ns = max(int(last_ns[connection.direction(sender)]) for connection, sender in way.parts)
    return {
        "id": flow.id,
        "cc": flow.cc,
        "error": "",
        "connected_us": way.parts[0][0].connected_ns // 1000,
        "stopped_us": ended_ns // 1000,
        "completed_us": ended_ns // 1000,
        "connections": len(way.parts),
        "bytes_sent": sum(end.sent for end in way.senders),
        "bytes_received": sum(end.received for end in way.receivers),
        "packets_sent": sum(end.packets_sent for end in way.senders),
        "packets_received": sum(end.packets_received for end in way.receivers),
        "retransmits": sum(end.again for end in way.senders),
        "marks_reported": sum(end.marks for end in way.senders),
        "program": {
            "delivered": sum(end.delivered for end in way.senders),
            "bytes_backward": sum(end.sent for end in way.receivers),
            "ports": [
                [connection.ends[sender].port, connection.ends[1 - sender].port] for connection, sender in way.parts
            ],
        },
    }


def _busiest_first(observed: Observed) -> list[str]:
    """The devices with queues through which packets went; the first one had the most drops, then the most bytes waiting over time."""
    records = observed.rows.view(TRACE_KINDS["link"])
    records = records[records["kind"] == KIND_NUMBERS["link"]]
    waited = {}
    for number, name in observed.queues.items():
        if len(its := records[records["id"] == number]) and its["tx_packets"][-1]:
            waited[name] = int(its["drops"][-1]), int(its["queue_byte_ns"][-1]), int(its["tx_bytes"][-1])
    return sorted(waited, key=lambda name: waited[name], reverse=True)


def _rates(changes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """(from us, bit/s) of a queue, the first one from the start on. While a script replaces a queue, its rate is unknown for a moment."""
    known = [(from_ns // 1000, bps) for from_ns, bps in changes if bps]
    return [(0, known[0][1]), *known[1:]] if known else [(0, 0)]


def _changes(links: Sequence[Link], rates: Mapping[str, Sequence[tuple[int, int]]]) -> list[DeviceChange]:
    changes = [
        DeviceChange(at_us, link.node, link.dev, (Qdisc("tbf", _ROOT, _ROOT, {"rate_bps": rate_bps}),))
        for link in links
        for at_us, rate_bps in rates.get(link.dev, [])[1:]
    ]
    return sorted(changes, key=lambda change: change.at_us)
