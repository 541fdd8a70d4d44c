"""Every host of a net reaches every other one, with what the run has and what is added."""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address, ip_interface, ip_network

import pytest

from longhaul.orchestrator.backends.shell.reach import missing_paths
from longhaul.orchestrator.plan.run import Route, Run
from longhaul.topologies import CATALOG
from tests.unit.plan.test_network import compiled


def next_hop(run: Run, routes: Sequence[Route], host: str, target: str) -> str:
    """The address to which a host gives a packet for another one."""
    found = [route.via for route in routes if route.node == host and ip_address(target) in ip_network(route.to)]
    if found:
        return found[0]
    own = [end.address for end in run.ends if end.node == host and end.address]
    assert any(ip_address(target) in ip_interface(address).network for address in own), (host, target)
    return target


@pytest.mark.parametrize("topology", sorted(CATALOG))
def test_a_packet_gets_from_every_host_to_every_other(topology: str) -> None:
    run = compiled(topology, **({"path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms"}} if topology == "dumbbell" else {}))
    first: dict[str, str] = {}
    owner: dict[str, str] = {}
    for end in run.ends:
        if end.address:
            address = end.address.partition("/")[0]
            first.setdefault(end.node, address)
            owner[address] = end.node
    neighbours, routes = missing_paths(run)
    known = {(one.node, one.address) for one in (*run.neighbours, *neighbours)}
    for host in first:
        for other, address in first.items():
            at, hops = host, 0
            while at != other and address not in [one for one in owner if owner[one] == at]:
                hop = next_hop(run, [*run.routes, *routes], at, address)
                assert (at, hop) in known
                at, hops = owner[hop], hops + 1
                assert hops <= len(first)


def test_nothing_is_added_twice() -> None:
    run = compiled("parking_lot")
    added, routes = missing_paths(run)
    assert len(set(added)) == len(added) and not set(added) & set(run.neighbours)
    assert not routes
