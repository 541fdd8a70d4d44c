"""The dumbbell as a Mininet graph; also for `mn --custom topologies/dumbbell.py --topo dumbbell,2`.

s1 --- r === d        === the bottleneck; rates, delays and queues come from the plan, not from here
s2 ---'               r passes packets on, every other node is an end host
"""

from __future__ import annotations

from mininet.topo import Topo


class Dumbbell(Topo):  # type: ignore[misc]
    """`senders` hosts s1..sn, router r, receiver d, with the device names of the plan."""

    def build(self, senders: int = 2) -> None:
        self.addHost("r")
        self.addHost("d")
        for number in range(1, senders + 1):
            sender = self.addHost(f"s{number}")
            self.addLink(sender, "r", intfName1=f"{sender}-r", intfName2=f"r-{sender}")
        self.addLink("r", "d", intfName1="r-d", intfName2="d-r")


topos = {"dumbbell": Dumbbell}
