"""e-VLBI: telescopes stream into one correlator; `mn --custom topologies/evn.py --topo evn,n=6`.

t1 - - - .
t2 - - - - s1 ======= correlator        each telescope has its own distance and its own uplink
tn - - - '
"""

from __future__ import annotations

from mininet.topo import Topo


class Evn(Topo):  # type: ignore[misc]
    """Telescopes t1..tn, the nearest first."""

    def build(
        self,
        n: int = 6,
        bw: float = 1000,
        uplink: float = 1000,
        first: float = 10,
        last: float = 40,
        queue: int | None = None,
    ) -> None:
        """Rates in Mbit/s, base round trips in milliseconds, `queue` of the correlator's link in packets."""
        switch, correlator = self.addSwitch("s1"), self.addHost("correlator")
        self.addLink(switch, correlator, params1={"bw": bw, "max_queue_size": queue})
        for number in range(1, n + 1):
            rtt = first + (last - first) * (number - 1) / max(1, n - 1)
            self.addLink(self.addHost(f"t{number}"), switch, delay=f"{rtt / 2}ms", params1={"bw": uplink})
        self.pairs = [(f"t{number}", correlator) for number in range(1, n + 1)]
        self.bottlenecks = [(switch, correlator)]


topos = {"evn": Evn}
