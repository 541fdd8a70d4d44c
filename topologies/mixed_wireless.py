"""Wired hosts and a wireless cell, as in the UNPA study; `mn --custom topologies/mixed_wireless.py --topo mixed_wireless`.

w1 ---.                      .- - - m1
       base ~ ~ ~ ~ ~ ~ ~ air           `air` is the channel: one frame at a time, from the base station or from any station,
w2 ---'                      '- - - m2   the sender that wins the contention; each sender has its own queue

With `aggregate` the channel is one of 802.11n, whose senders put up to so many frames into one transmission.

Mininet knows no such medium and takes `bw`, the same rate for each direction by itself.
"""

from __future__ import annotations

from mininet.topo import Topo


class MixedWireless(Topo):  # type: ignore[misc]
    """Wired hosts w1..wn, stations m1..mn."""

    def build(
        self,
        n: int = 2,
        bw: float = 10,
        delay: float = 2,
        wifi: float = 1,
        queue: int = 50,
        aggregate: int | None = None,
        frame_loss: float | None = None,
    ) -> None:
        """Rates in Mbit/s, `delay` one way in milliseconds, `queue` of each sender on the channel in packets, `frame_loss` in per cent."""
        base, air = self.addSwitch("base", dpid="1"), self.addSwitch("air", dpid="2")
        sender = {"bw": wifi, "medium": "802.11", "max_queue_size": queue}
        if aggregate is not None:
            sender |= {"medium": "802.11n", "aggregate": aggregate}
        if frame_loss:
            sender["frame_loss"] = frame_loss
        self.addLink(base, air, params1=sender)
        for number in range(1, n + 1):
            self.addLink(self.addHost(f"w{number}"), base, bw=bw, delay=f"{delay}ms", max_queue_size=queue)
            self.addLink(self.addHost(f"m{number}"), air, params1=sender)
        self.pairs = [(f"w{number}", f"m{number}") for number in range(1, n + 1)]
        self.bottlenecks = [(base, air)]


topos = {"mixed_wireless": MixedWireless}
