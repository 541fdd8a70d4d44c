"""Incast: n senders answer one receiver at once; `mn --custom topologies/incast.py --topo incast,n=16`.

a1 ---.
a2 ---- s1 === b1        every link has the same rate; only the one to the receiver has to queue
an ---'
"""

from __future__ import annotations

from mininet.topo import Topo


class Incast(Topo):  # type: ignore[misc]
    """Senders a1..an, receiver b1."""

    def build(self, n: int = 16, bw: float = 1000, rtt: float = 0.2, queue: int | None = 64) -> None:
        """`bw` in Mbit/s, `rtt` in milliseconds, `queue` in packets."""
        switch, receiver = self.addSwitch("s1"), self.addHost("b1")
        self.addLink(switch, receiver, delay=f"{rtt / 2}ms", params1={"bw": bw, "max_queue_size": queue})
        for number in range(1, n + 1):
            # What waits in a sender's own interface is not the switch's to drop: room as Linux gives it.
            self.addLink(self.addHost(f"a{number}"), switch, params1={"bw": bw, "max_queue_size": 1000})
        self.pairs = [(f"a{number}", receiver) for number in range(1, n + 1)]
        self.bottlenecks = [(switch, receiver)]


topos = {"incast": Incast}
