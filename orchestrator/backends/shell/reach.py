"""What every host of a run still needs to reach every other one: neighbours within a network, and routes across routers.

A run has only those of its flows, so that nothing but their packets is on its links. A user who looks around in its net sends packets of
programs between any two hosts.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_address, ip_network

from longhaul.orchestrator.plan.run import End, Neighbour, Route, Run

# Their number grows with the square of that of the hosts.
MOST_HOSTS = 100


class _Net:
    """Which ends of hosts share a network."""

    def __init__(self, run: Run) -> None:
        self._bridges = {node.name for node in run.nodes if node.bridge}
        self._far = {near.dev: far for wire in run.wires for near, far in (wire.ends, wire.ends[::-1])}
        self.ends: dict[str, list[End]] = {}
        for end in run.ends:
            self.ends.setdefault(end.node, []).append(end)
        self.hosts = [name for name in self.ends if name not in self._bridges]
        self.joined = {end.dev: list(self._reached(end)) for host in self.hosts for end in self.ends[host]}

    def _reached(self, end: End) -> Iterator[End]:
        """The ends of other hosts that frames from this end can reach."""
        waiting, seen = [self._far[end.dev]], {end.dev}
        while waiting:
            far = waiting.pop(0)
            if far.dev in seen:
                continue
            seen.add(far.dev)
            if far.node in self._bridges:
                waiting += [self._far[onward.dev] for onward in self.ends[far.node] if onward.dev != far.dev]
            elif far.address:
                yield far

    def first_steps(self, host: str) -> dict[str, End]:
        """For each host that this one reaches, the end of the first host on the way to it."""
        steps: dict[str, End] = {}
        waiting: list[tuple[str, End | None]] = [(host, None)]
        while waiting:
            name, step = waiting.pop(0)
            for end in self.ends[name]:
                for far in self.joined[end.dev]:
                    if far.node != host and far.node not in steps:
                        steps[far.node] = step or far
                        waiting.append((far.node, steps[far.node]))
        return steps


def missing_paths(run: Run) -> tuple[list[Neighbour], list[Route]]:
    """The neighbours within networks, and the routes to the first address of hosts in others, that the run does not have."""
    net = _Net(run)
    return _missing_neighbours(run, net), _missing_routes(run, net)


def _missing_neighbours(run: Run, net: _Net) -> list[Neighbour]:
    known = {(one.node, one.dev, one.address) for one in run.neighbours}
    wanted = [
        Neighbour(end.node, end.dev, _bare(far.address), far.mac)
        for host in net.hosts
        for end in net.ends[host]
        for far in net.joined[end.dev]
    ]
    return [one for one in wanted if (one.node, one.dev, one.address) not in known]


def _missing_routes(run: Run, net: _Net) -> list[Route]:
    routes = []
    for host in net.hosts:
        own = [ip_network(end.address, strict=False) for end in net.ends[host] if end.address]
        known = [ip_network(route.to) for route in run.routes if route.node == host]
        for target, step in net.first_steps(host).items():
            address = next((_bare(end.address) for end in net.ends[target] if end.address), None)
            if address and not any(ip_address(address) in network for network in (*own, *known)):
                routes.append(Route(host, f"{address}/32", _bare(step.address)))
    return routes


def _bare(address: str | None) -> str:
    assert address is not None, "an end of a host has an address"
    return address.partition("/")[0]
