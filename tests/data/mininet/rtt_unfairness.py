#!/usr/bin/env python3
"""RTT unfairness: flows with a short and a long round trip share a bottleneck; `ss -tin` is polled for their windows."""

import re
import sys
from time import sleep, time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Unfair(Topo):
    def build(self, delays=("5ms", "45ms")):
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(left, right, bw=10, delay="2ms", max_queue_size=40)
        for number, delay in enumerate(delays, 1):
            self.addLink(self.addHost("c%d" % number), left, delay=delay)
            self.addLink(self.addHost("d%d" % number), right)


def window(host):
    """Of the connection with data: iperf3 has another one for control."""
    lines = re.findall(r"\bcwnd:(\d+).*?\bbytes_sent:(\d+)", host.cmd("ss -tin dst 10.0.0.0/8"))
    return max([(int(sent), int(cwnd)) for cwnd, sent in lines], default=(0, 0))[1]


def main(cc, seconds):
    net = Mininet(topo=Unfair(), link=TCLink, autoStaticArp=True)
    net.start()
    pairs = [(net["c%d" % number], net["d%d" % number]) for number in (1, 2)]
    for sender, receiver in pairs:
        sender.cmd("sysctl -w net.ipv4.tcp_congestion_control=%s" % cc)
        receiver.cmd("iperf3 -s -i 0 --logfile /tmp/%s.txt &" % receiver.name)
    sleep(0.5)
    for sender, receiver in pairs:
        sender.cmd("iperf3 -c %s -t %d -f m > /tmp/%s.txt 2>&1 &" % (receiver.IP(), seconds, sender.name))
    start, samples = time(), [[], []]
    while time() - start < seconds:
        for (sender, _), found in zip(pairs, samples):
            found.append(window(sender))
        sleep(0.5)
    for sender, _ in pairs:
        sender.cmd("wait %1")
    for (sender, receiver), found in zip(pairs, samples):
        rate = re.findall(r"([\d.]+) Mbits/sec.*receiver", open("/tmp/%s.txt" % sender.name).read())[-1]
        print("%s %s: %s Mbit/s, mean window %.1f of %d samples" % (cc, sender.name, rate, sum(found) / len(found), len(found)))
    net.stop()


if __name__ == "__main__":
    for cc in sys.argv[2:] or ["reno", "cubic"]:
        main(cc, int(sys.argv[1]) if len(sys.argv) > 1 else 15)
