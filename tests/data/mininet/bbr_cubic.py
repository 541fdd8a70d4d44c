"""BBR against CUBIC on one bottleneck, as reproductions of the BBR paper do it: modprobe, sysctl, iperf3 with -C."""

import json
import os

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.node import OVSController
from mininet.topo import Topo


class Dumbbell(Topo):
    def build(self):
        left, right = self.addSwitch("s1"), self.addSwitch("s2")
        self.addLink(left, right, bw=20, delay="20ms", max_queue_size=50)
        for number in range(1, 5):
            host = self.addHost("h%d" % number)
            self.addLink(host, left if number < 3 else right, bw=100)


def main():
    os.system("modprobe tcp_bbr")
    os.system("sysctl -w net.core.default_qdisc=fq > /dev/null")
    net = Mininet(topo=Dumbbell(), link=TCLink, controller=OVSController, autoSetMacs=True)
    net.start()
    h1, h2, h3, h4 = (net["h%d" % number] for number in range(1, 5))
    for server in (h3, h4):
        server.cmd("iperf3 -s -D")
    clients = [
        client.popen(["iperf3", "-c", server.IP(), "-t", "20", "-C", cc, "-J"])
        for client, server, cc in ((h1, h3, "bbr"), (h2, h4, "cubic"))
    ]
    for client in clients:
        out, _ = client.communicate()
        end = json.loads(out)["end"]
        print(end["sender_tcp_congestion"], "%.1f Mbit/s" % (end["sum_received"]["bits_per_second"] / 1e6))
    net.stop()


if __name__ == "__main__":
    main()
