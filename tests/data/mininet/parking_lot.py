#!/usr/bin/python3
"""A parking lot: receivers in a row, every sender sends to the first; measured with Mininet's own iperf."""

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.log import lg, output
from mininet.net import Mininet
from mininet.topo import Topo
from mininet.util import irange


class ParkingLotTopo(Topo):
    def __init__(self, n=3, **params):
        self.n = n
        Topo.__init__(self, **params)
        hconfig, lconfig = {}, {"bw": 10, "delay": "1ms", "loss": 0, "max_queue_size": 200}
        receiver = self.addHost("receiver", **hconfig)
        last = None
        for number in irange(1, n):
            switch = self.addSwitch("s%d" % number)
            host = self.addHost("h%d" % number, **hconfig)
            self.addLink(receiver if last is None else last, switch, port1=0 if last is None else 1, port2=0, **lconfig)
            self.addLink(host, switch, port1=0, port2=2, **lconfig)
            last = switch


def main():
    lg.setLogLevel("output")
    net = Mininet(topo=ParkingLotTopo(n=3), link=TCLink)
    net.start()
    output("loss %s\n" % net.pingAll())
    receiver = net.getNodeByName("receiver")
    for number in irange(1, 3):
        net.iperf([net["h%d" % number], receiver], seconds=5)
    receiver.sendCmd("iperf -s")
    waiting = []
    for number in irange(1, 3):
        sender = net["h%d" % number]
        sender.sendCmd("iperf -c %s -t 10 -i 5 -f m" % receiver.IP())
        waiting.append(sender)
    for sender in waiting:
        lines = [line for line in sender.waitOutput().splitlines() if "/sec" in line]
        output("%s: %s\n" % (sender.name, lines[-1].split("  ")[-1]))
    receiver.sendInt()
    receiver.waitOutput()
    CLI(net)
    net.stop()


main()
