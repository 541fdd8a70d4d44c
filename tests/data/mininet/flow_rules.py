"""A firewall of Open vSwitch's rules."""

from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2))
net.start()
net["s1"].cmd("ovs-ofctl add-flow s1 priority=10,icmp,actions=drop")
print(net.pingAll())
net.stop()
