"""A long path: a chain of routers, with another rate and delay in each direction; `mn --custom topologies/long_path.py --topo long_path`.

a1 --- r1 ===== r2 ===== ... ===== rn --- b1        every link between routers is a network of its own

A host with more than one link is a router. The addresses and routes here are for Mininet; an experiment has its own.
"""

from __future__ import annotations

import itertools
from typing import Any

from mininet.node import Node
from mininet.topo import Topo


class Router(Node):  # type: ignore[misc]
    """A host that passes packets on; `routes` are (network, next hop)."""

    def config(self, routes: tuple[tuple[str, str], ...] = (), **params: Any) -> dict[str, Any]:
        """Forwarding on, then the routes."""
        done: dict[str, Any] = super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")
        for network, hop in routes:
            self.cmd(f"ip route add {network} via {hop}")
        return done


class LongPath(Topo):  # type: ignore[misc]
    """Host a1, routers r1..r(hops+1), host b1; network i is 10.0.i.0/24, the router nearer to a1 being .1 there."""

    def build(
        self,
        hops: int = 5,
        bw: float = 622,
        bw_reverse: float | None = None,
        forward: float = 100,
        reverse: float = 200,
        queue: int | None = None,
    ) -> None:
        """Rates in Mbit/s of each hop, delays in milliseconds of all hops together, `queue` in packets."""
        last = hops + 1
        routers = [self._router(number, last) for number in range(1, last + 1)]
        self.addLink(
            self.addHost("a1", ip="10.0.0.2/24", defaultRoute="via 10.0.0.1"), routers[0], params2={"ip": "10.0.0.1/24"}
        )
        self.bottlenecks = list(itertools.pairwise(routers))
        for number, (near, far) in enumerate(self.bottlenecks, 1):
            there = {"bw": bw, "delay": f"{forward / hops}ms", "max_queue_size": queue}
            back = {"bw": bw_reverse or bw, "delay": f"{reverse / hops}ms", "max_queue_size": queue}
            self.addLink(
                near, far, params1={"ip": f"10.0.{number}.1/24", **there}, params2={"ip": f"10.0.{number}.2/24", **back}
            )
        receiver = self.addHost("b1", ip=f"10.0.{last}.2/24", defaultRoute=f"via 10.0.{last}.1")
        self.addLink(routers[-1], receiver, params1={"ip": f"10.0.{last}.1/24"})
        self.pairs = [("a1", "b1")]

    def _router(self, number: int, last: int) -> str:
        """Network i lies between routers i and i + 1; those before a router are reached backward, the others forward."""
        behind = ((f"10.0.{network}.0/24", f"10.0.{number - 1}.1") for network in range(number - 1))
        ahead = ((f"10.0.{network}.0/24", f"10.0.{number}.2") for network in range(number + 1, last + 1))
        name: str = self.addHost(f"r{number}", cls=Router, ip=None, routes=(*behind, *ahead))
        return name


topos = {"long_path": LongPath}
