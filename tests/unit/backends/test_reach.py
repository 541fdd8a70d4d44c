"""Every host of a net reaches every other one, with what the run has and what is added."""

from __future__ import annotations

from ipaddress import ip_address, ip_interface, ip_network

import pytest

from longhaul.orchestrator.backends.shell.reach import missing_neighbours, missing_routes
from longhaul.orchestrator.plan.run import Run
from longhaul.topologies import CATALOG
from tests.unit.plan.test_network import compiled


def next_hop(run: Run, host: str, target: str) -> str:
    """The address to which a host gives a packet for another one."""
    routes = [route for route in (*run.routes, *missing_routes(run)) if route.node == host]
    found = [route.via for route in routes if ip_address(target) in ip_network(route.to)]
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
    known = {(one.node, one.address) for one in (*run.neighbours, *missing_neighbours(run))}
    for host in first:
        for other, address in first.items():
            at, hops = host, 0
            while at != other and address not in [one for one in owner if owner[one] == at]:
                hop = next_hop(run, at, address)
                assert (at, hop) in known
                at, hops = owner[hop], hops + 1
                assert hops <= len(first)


def test_nothing_is_added_twice() -> None:
    run = compiled("parking_lot")
    added = missing_neighbours(run)
    assert len(set(added)) == len(added) and not set(added) & set(run.neighbours)
    assert not missing_routes(run)
