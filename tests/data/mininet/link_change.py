"""A link that changes while a transfer is running: bandwidth and delay with `intf.config`, as in lessons on adaptation."""

import re
import sys
import time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Line(Topo):
    def build(self):
        h1, h2 = self.addHost("h1"), self.addHost("h2")
        s1 = self.addSwitch("s1")
        self.addLink(h1, s1, bw=100)
        self.addLink(s1, h2, bw=20, delay="5ms", max_queue_size=100)


def change(link, **params):
    for intf in (link.intf1, link.intf2):
        intf.config(max_queue_size=100, **params)


def main(seconds):
    net = Mininet(topo=Line(), link=TCLink)
    net.start()
    h1, h2, s1 = net.get("h1", "h2", "s1")
    (link,) = net.linksBetween(s1, h2)
    h2.cmd("iperf3 -s -D --logfile /tmp/server.txt")
    time.sleep(1)
    h1.cmd("iperf3 -c %s -t %d -i 1 -f m > /tmp/client.txt 2>&1 &" % (h2.IP(), 3 * seconds))
    time.sleep(seconds)
    change(link, bw=5, delay="20ms")
    print("after the first change:", s1.cmd("tc qdisc show dev %s" % link.intf1.name).split("\n")[0].split()[1])
    time.sleep(seconds)
    change(link, bw=50, delay="1ms")
    time.sleep(seconds + 2)
    rates = [float(one) for one in re.findall(r"([\d.]+) Mbits/sec", open("/tmp/server.txt").read())]
    for number in range(3):
        part = rates[number * seconds + 1 : (number + 1) * seconds]
        print("phase %d: %.1f Mbit/s" % (number + 1, sum(part) / len(part)))
    print("ping: %s ms" % h1.cmd("ping -c 5 -i 0.2 %s" % h2.IP()).split("/")[-3])
    net.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10)
