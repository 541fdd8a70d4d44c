#!/usr/bin/python3
"""Policies of queues at a router: a long transfer, and pings through the same link, with each of tc's queues below an htb class."""

import re
import sys
import time

from mininet.link import Link
from mininet.log import info, setLogLevel
from mininet.net import Mininet
from mininet.node import Node

POLICIES = {
    "pfifo": "pfifo limit 200",
    "prio": "prio",
    "fq_codel": "fq_codel limit 1000",
    "sfq": "sfq perturb 10",
    "red": "red limit 300000 min 15000 max 45000 avpkt 1500 burst 20 bandwidth 10mbit probability 0.1",
}


class LinuxRouter(Node):
    "A Node with IP forwarding enabled."

    def config(self, **params):
        super().config(**params)
        self.cmd("sysctl -w net.ipv4.ip_forward=1")

    def terminate(self):
        self.cmd("sysctl -w net.ipv4.ip_forward=0")
        super().terminate()


def tc(node, words):
    printed = node.cmd("tc " + words)
    if printed.strip():
        raise SystemExit("tc %s: %s" % (words, printed))


def main(seconds):
    net = Mininet(link=Link, controller=None)
    router = net.addHost("r0", cls=LinuxRouter, ip="10.0.1.1/24")
    sender = net.addHost("h1", ip="10.0.1.100/24", defaultRoute="via 10.0.1.1")
    receiver = net.addHost("h2", ip="10.0.2.100/24", defaultRoute="via 10.0.2.1")
    net.addLink(sender, router, intfName2="r0-eth1", params2={"ip": "10.0.1.1/24"})
    net.addLink(receiver, router, intfName2="r0-eth2", params2={"ip": "10.0.2.1/24"})
    net.start()
    info("routes: %d\n" % len(router.cmd("ip route").splitlines()))
    receiver.cmd("iperf3 -s -D")
    # The delay of the line is at the receiver, so that the queue is the router's.
    tc(receiver, "qdisc add dev h2-eth0 root netem delay 20ms limit 10000")
    tc(router, "qdisc add dev r0-eth2 root handle 1: htb default 10")
    tc(router, "class add dev r0-eth2 parent 1: classid 1:10 htb rate 10mbit ceil 10mbit burst 15k")
    for name, words in POLICIES.items():
        tc(router, "qdisc add dev r0-eth2 parent 1:10 handle 10: %s" % words)
        if name == "prio":
            tc(router, "filter add dev r0-eth2 parent 10: protocol ip prio 1 u32 match ip protocol 1 0xff flowid 10:1")
            tc(router, "filter add dev r0-eth2 parent 10: protocol ip prio 2 u32 match ip protocol 6 0xff flowid 10:2")
        transfer = sender.popen("iperf3 -c 10.0.2.100 -f m -t %d" % seconds, shell=True)
        time.sleep(1)
        pings = sender.cmd("ping -i 0.5 -w %d 10.0.2.100" % (seconds - 2))
        out, _ = transfer.communicate()
        rate = re.findall(r"([\d.]+) Mbits/sec.*receiver", out.decode())[-1]
        least, mean, most = re.search(r"= ([\d.]+)/([\d.]+)/([\d.]+)/", pings).groups()
        print("%-8s %5s Mbit/s, ping %s to %s ms, mean %s" % (name, rate, least, most, mean))
        time.sleep(1)
        tc(router, "qdisc del dev r0-eth2 parent 1:10 handle 10:")
    print(re.search(r"\S+ packet loss", sender.cmd("ping -c 10 -i 0.3 -W 1 10.0.2.9"))[0])
    net.stop()


if __name__ == "__main__":
    setLogLevel("info")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
