"""The dumbbell: n pairs of hosts share one bottleneck; also for `mn --custom topologies/dumbbell.py --topo dumbbell,n=2`.

a1 ---.               .--- b1
       s1 ========= s2          one pair needs no second switch: a1 --- s1 === b1
a2 ---'               '--- b2

Data goes from a to b; acknowledgements wait for nothing. The bottleneck carries the round trip of the first pair, half in each direction; what another pair has more
is added where its acknowledgements leave s1, behind everything that is shared.
"""

from __future__ import annotations

from mininet.topo import Topo


class Dumbbell(Topo):  # type: ignore[misc]
    """Hosts a1..an and b1..bn."""

    def build(
        self, n: int = 1, bw: float = 100, rtt: float = 40, rtt_last: float | None = None, queue: int | None = None
    ) -> None:
        """`bw` in Mbit/s, `rtt` and `rtt_last` in milliseconds, `queue` in packets."""
        if rtt_last is not None and rtt_last < rtt:
            raise ValueError(f"rtt_last, {rtt_last} ms, is below rtt, {rtt} ms")
        left = self.addSwitch("s1")
        right = self.addSwitch("s2") if n > 1 else self.addHost("b1")
        self.addLink(left, right, delay=f"{rtt / 2}ms", params1={"bw": bw, "max_queue_size": queue})
        step = 0.0 if rtt_last is None or n == 1 else (rtt_last - rtt) / (n - 1)
        for pair in range(1, n + 1):
            more = step * (pair - 1)
            self.addLink(self.addHost(f"a{pair}"), left, params2={"delay": f"{more}ms"} if more else {})
            if n > 1:
                self.addLink(right, self.addHost(f"b{pair}"))
        self.pairs = [(f"a{pair}", f"b{pair}") for pair in range(1, n + 1)]
        self.bottlenecks = [(left, right)]


topos = {"dumbbell": Dumbbell}
