"""The parking lot: k bottlenecks in a row; `mn --custom topologies/parking_lot.py --topo parking_lot,k=3`.

a0 --- s1 ===== s2 ===== s3 ===== s4 --- b0       one pair goes the whole way
       |        |        |         |
       a1       b1,a2    b2,a3     b3              and a pair of cross traffic over each bottleneck
"""

from __future__ import annotations

import itertools

from mininet.topo import Topo


class ParkingLot(Topo):  # type: ignore[misc]
    """Switches s1..s(k+1), the pair a0 and b0, and cross traffic from a1..ak to b1..bk."""

    def build(self, k: int = 3, bw: float = 100, rtt: float = 20, queue: int | None = None) -> None:
        """`bw` in Mbit/s and `rtt` in milliseconds, of each bottleneck; `queue` in packets."""
        switches = [self.addSwitch(f"s{number}") for number in range(1, k + 2)]
        self.bottlenecks = list(itertools.pairwise(switches))
        self.addLink(self.addHost("a0"), switches[0])
        for number, (near, far) in enumerate(self.bottlenecks, 1):
            self.addLink(near, far, delay=f"{rtt / 2}ms", params1={"bw": bw, "max_queue_size": queue})
            self.addLink(self.addHost(f"a{number}"), near)
            self.addLink(far, self.addHost(f"b{number}"))
        self.addLink(switches[-1], self.addHost("b0"))
        self.pairs = [(f"a{number}", f"b{number}") for number in range(k + 1)]


topos = {"parking_lot": ParkingLot}
