#!/usr/bin/env python3
"""Bufferbloat: a long upload, pings and fetches of a page through a home router with a large or a small queue."""

import sys
from subprocess import PIPE
from time import sleep, time

from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo
from mininet.util import dumpNodeConnections


class BBTopo(Topo):
    "A router between a fast link to the server and a slow one to the home."

    def build(self, maxq=100):
        h1 = self.addHost("h1")
        h2 = self.addHost("h2")
        switch = self.addSwitch("s0")
        self.addLink(h1, switch, bw=100, delay="5ms")
        self.addLink(switch, h2, bw=1.5, delay="5ms", max_queue_size=maxq)


def fetch(client, server):
    out = client.cmd("curl -o /dev/null -s -w %%{time_total} http://%s:8000/index.html" % server.IP())
    return float(out)


def bufferbloat(maxq, seconds):
    net = Mininet(topo=BBTopo(maxq=maxq), link=TCLink)
    net.start()
    dumpNodeConnections(net.hosts)
    net.pingAll()
    h1, h2 = net.get("h1", "h2")
    h1.cmd("mkdir -p /tmp/www; head -c 20000 /dev/zero > /tmp/www/index.html")
    web = h1.popen("python3 -m http.server 8000 --directory /tmp/www", stdout=PIPE, stderr=PIPE)
    server = h2.popen("iperf -s -w 16m", shell=True, stdout=PIPE)
    ping = h1.popen("ping -i 0.1 -w %d %s > /tmp/ping.txt" % (seconds, h2.IP()), shell=True)
    sleep(1)
    client = h1.popen("iperf -c %s -t %d > /tmp/iperf.txt" % (h2.IP(), seconds), shell=True)
    start = time()
    times = []
    while time() - start < seconds:
        times += [fetch(h2, h1) for _ in range(3)]
        sleep(2)
    client.wait()
    ping.wait()
    for process in (web, server):
        process.terminate()
    rtts = [float(line.split("time=")[1].split()[0]) for line in open("/tmp/ping.txt") if "time=" in line]
    net.stop()
    print(
        "queue of %d: %d fetches, mean %.2f s, ping at most %.0f ms"
        % (maxq, len(times), sum(times) / len(times), max(rtts))
    )


if __name__ == "__main__":
    setLogLevel("info")
    for size in [int(word) for word in sys.argv[2:]] or [100, 20]:
        bufferbloat(size, int(sys.argv[1]) if len(sys.argv) > 1 else 30)
