"""Near and far hosts share one bottleneck; `mn --custom topologies/lan_and_wan.py --topo lan_and_wan`.

near1 --------.               .--- b1
               s1 ========= s2          the far hosts' delay lies on their own links, before the shared queue
far1 - - - - -'               '--- b2
"""

from __future__ import annotations

from mininet.topo import Topo


class LanAndWan(Topo):  # type: ignore[misc]
    """Senders near1.. and far1.., each with a receiver of its own, b1.., in that order."""

    def build(
        self,
        near: int = 1,
        far: int = 1,
        bw: float = 100,
        rtt_near: float = 2,
        rtt_far: float = 100,
        queue: int | None = None,
    ) -> None:
        """`bw` in Mbit/s, round trips in milliseconds, `queue` in packets."""
        if rtt_far < rtt_near:
            raise ValueError(f"rtt_far, {rtt_far} ms, is below rtt_near, {rtt_near} ms")
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(left, right, delay=f"{rtt_near / 2}ms", params1={"bw": bw, "max_queue_size": queue})
        senders = [f"near{number}" for number in range(1, near + 1)] + [f"far{number}" for number in range(1, far + 1)]
        for number, sender in enumerate(senders, 1):
            more = {"delay": f"{(rtt_far - rtt_near) / 2}ms"} if number > near else {}
            self.addLink(self.addHost(sender), left, **more)
            self.addLink(right, self.addHost(f"b{number}"))
        self.pairs = [(sender, f"b{number}") for number, sender in enumerate(senders, 1)]
        self.bottlenecks = [(left, right)]


topos = {"lan_and_wan": LanAndWan}
