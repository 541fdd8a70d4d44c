"""Hosts with a share of the processor each, as in Mininet's own cpu example."""

from mininet.net import Mininet
from mininet.node import CPULimitedHost
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2), host=CPULimitedHost)
net.start()
net.stop()
