#!/usr/bin/python
"""An exercise from the days of Python 2."""

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2))
net.start()
print "hosts:", [host.name for host in net.hosts]
net.stop()
