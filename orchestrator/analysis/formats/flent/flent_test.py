"""The test of flent that a run is like, and the names that its series have there.

    flows named as in orchestrator/experiments/flent/     that test: upload-be is "TCP upload BE" of rrul
    other flows                                           tcp_nup or tcp_ndown; rrul_be_nflows if they go in both directions

flent draws a series only if the plots of the file's test know its name, so every transfer gets a name of that test. A flow is an upload if it crosses the first
bottleneck forward. Flows of UDP and web users have no series, as those tests have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from longhaul.orchestrator.plan.run import Flow, Run

PING = "Ping (ms)"
_WAYS = ("upload", "download")
# The labels of each test's transfers, of which there is one in each direction.
_LABELS = {
    "rrul": ("BE", "BK", "CS5", "EF"),
    "rrul_be": ("BE", "BE2", "BE3", "BE4"),
    "rtt_fair": ("BE1", "BE2", "BK1", "BK2"),
}
# Tests whose names have the host at the other end, each with a ping of its own.
_WITH_HOSTS = ("rtt_fair",)
_WITHOUT_TOTALS = ("rtt_fair", "tcp_nup", "tcp_ndown")
_WITHOUT_MEAN_PING = ("tcp_nup", "tcp_ndown")
_WITH_FAIRNESS = ("rtt_fair", "tcp_nup", "tcp_ndown")


@dataclass(frozen=True, slots=True)
class FlentTest:
    """The series by name: transfers, the flows whose round trips a ping stands for, and what is computed from which others."""

    name: str
    hosts: Sequence[str]
    transfers: Mapping[str, Flow]
    pings: Mapping[str, Sequence[Flow]]
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def computed(self) -> Iterator[tuple[str, str, Sequence[str]]]:
        """(name, what is computed: sum, avg or fairness, of which series)."""
        for way in _WAYS:
            names = [name for name in self.transfers if name.startswith(f"TCP {way}")]
            if names or way == _WAYS[self.name == "tcp_ndown"]:
                yield f"TCP {way} avg", "avg", names
                yield f"TCP {way} sum", "sum", names
                if self.name in _WITH_FAIRNESS:
                    yield f"TCP {way} fairness", "fairness", names
        if self.name not in _WITHOUT_TOTALS:
            yield "TCP totals", "sum", list(self.transfers)
        if self.name not in _WITHOUT_MEAN_PING:
            yield f"{PING} avg", "avg", list(self.pings)


def flent_test(run: Run) -> FlentTest:
    """The test of flent with the same transfers."""
    flows = {flow.name: flow for flow in run.flows if flow.kind in ("tcp", "program")}
    for name, labels in _LABELS.items():
        if {*flows} == {f"{way}-{label.lower()}" for way in _WAYS for label in labels}:
            return _named(name, labels, flows)
    ways: dict[str, list[Flow]] = {way: [] for way in _WAYS}
    for flow in flows.values():
        ways[_WAYS[_is_download(run, flow)]].append(flow)
    return _numbered(ways)


def _named(test: str, labels: Sequence[str], flows: Mapping[str, Flow]) -> FlentTest:
    hosts = [flows[f"upload-{label.lower()}"].to_node for label in labels]
    places = [f" {host}" if test in _WITH_HOSTS else "" for host in hosts]
    transfers = {
        f"TCP {way} {label}{place}": flows[f"{way}-{label.lower()}"]
        for way in _WAYS
        for label, place in zip(labels, places, strict=True)
    }
    pings: dict[str, Sequence[Flow]] = {f"{PING} ICMP": list(flows.values())}
    if test in _WITH_HOSTS:
        pings = {
            f"{PING} ICMP{number}{place}": [flows[f"{way}-{label.lower()}"] for way in _WAYS]
            for number, (label, place) in enumerate(zip(labels, places, strict=True), 1)
        }
    # Names that have the host need all of them, in the order of the labels.
    return FlentTest(test, hosts if test in _WITH_HOSTS else _once(hosts), transfers, pings)


def _numbered(ways: Mapping[str, Sequence[Flow]]) -> FlentTest:
    used = [way for way in _WAYS if ways[way]] or [_WAYS[0]]
    test, label = ("rrul_be_nflows", " BE") if len(used) > 1 else (f"tcp_n{used[0].removesuffix('load')}", "")
    transfers = {f"TCP {way}{label}::{number}": flow for way in used for number, flow in enumerate(ways[way], 1)}
    hosts = [flow.to_node for flow in ways["upload"]] + [flow.from_node for flow in ways["download"]]
    pings = {f"{PING} ICMP": list(transfers.values())}
    return FlentTest(test, _once(hosts), transfers, pings, {f"{way}_streams": len(ways[way]) for way in used})


def _once(hosts: Sequence[str]) -> Sequence[str]:
    return list(dict.fromkeys(hosts))


def _is_download(run: Run, flow: Flow) -> bool:
    """Whether a flow crosses the first link that it has in common with the run's bottlenecks in reverse."""
    crossed = next((link.dev for link in run.links if link.dev in (*flow.forward, *flow.back)), None)
    return crossed in flow.back and crossed not in flow.forward
