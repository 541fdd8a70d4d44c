"""The test of flent that a run is like, and the names that its series have there.

    flows named as in orchestrator/experiments/flent/     that test: upload-be is "TCP upload BE" of rrul
    other flows                                           tcp_nup or tcp_ndown; rrul_be_nflows if they go in both directions

flent draws a series only if the plots of the file's test know its name, so every transfer gets a name of that test. A flow is an upload if it crosses the first
bottleneck forward. A flow of requests is a ping if its name begins with `ping`: ping-udp-ef is "Ping (ms) UDP EF" of rrul. Other flows have no series, as
those tests have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

PING = "Ping (ms)"
_WAYS = ("upload", "download")
# The labels of each test's transfers, of which there is one in each direction.
_LABELS: Mapping[str, Sequence[str]] = {
    "rrul": ("BE", "BK", "CS5", "EF"),
    "rrul_be": ("BE", "BE2", "BE3", "BE4"),
    "rtt_fair": ("BE1", "BE2", "BK1", "BK2"),
}
_PINGS: Mapping[str, Sequence[str]] = {
    "rrul": ("ICMP", "UDP EF", "UDP BK", "UDP BE"),
    "rrul_be": ("ICMP", "UDP BE1", "UDP BE2", "UDP BE3"),
    "rtt_fair": ("ICMP1", "ICMP2", "ICMP3", "ICMP4"),
    "rrul_be_nflows": ("ICMP", "UDP BE"),
    "tcp_nup": ("ICMP",),
    "tcp_ndown": ("ICMP",),
}
# Tests whose names have the host at the other end, each with a ping of its own.
_WITH_HOSTS = ("rtt_fair",)
_WITHOUT_TOTALS = ("rtt_fair", "tcp_nup", "tcp_ndown")
_WITHOUT_MEAN_PING = ("tcp_nup", "tcp_ndown")
_WITH_FAIRNESS = ("rtt_fair", "tcp_nup", "tcp_ndown")


@dataclass(frozen=True, slots=True)
class FlentTest:
    """The series by name: transfers, the flows whose round trips each ping has, and what is computed from which others.

    A ping has those of one flow of requests, or, of a run without such flows, those that the ACKs of transfers measured.
    """

    name: str
    hosts: Sequence[str]
    transfers: Mapping[str, Flow]
    pings: Mapping[str, Sequence[Flow]]
    parameters: Mapping[str, int | str] = field(default_factory=dict)

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
    requests = [flow for flow in run.flows if flow.requests is not None and flow.name.startswith("ping")]
    for name, labels in _LABELS.items():
        if {*flows} == {f"{way}-{label.lower()}" for way in _WAYS for label in labels}:
            return _with_pings(_named(name, labels, flows), requests)
    ways: dict[str, list[Flow]] = {way: [] for way in _WAYS}
    for flow in flows.values():
        ways[_WAYS[_is_download(run, flow)]].append(flow)
    return _with_pings(_numbered(ways), requests)


def _with_pings(test: FlentTest, requests: Sequence[Flow]) -> FlentTest:
    """The same with flows of requests for its pings: under the names that the test has, or as further hosts that flent pings."""
    if not requests:
        return test
    labels = _PINGS[test.name]
    known = {label: f"{PING} {label}" for label in labels}
    if test.name in _WITH_HOSTS:
        known = {label: f"{known[label]} {host}" for label, host in zip(labels, test.hosts, strict=True)}
    found: dict[str, Sequence[Flow]] = {}
    others = []
    for flow in requests:
        label = flow.name.removeprefix("ping-").upper().replace("-", " ")
        if label in known:
            found[known[label]] = [flow]
        else:
            others.append(flow)
    if test.name not in _LABELS and known["ICMP"] not in found and others:
        found = {known["ICMP"]: [others.pop(0)]} | found
    found |= {f"{PING} ICMP {flow.name} (extra)": [flow] for flow in others}
    more = {"ping_hosts": ",".join(flow.name for flow in others)} if others else {}
    return replace(test, pings=found, parameters={**test.parameters, **more})


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
