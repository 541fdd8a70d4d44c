"""A learning switch whose controller runs elsewhere."""

from mininet.net import Mininet
from mininet.node import OVSSwitch, RemoteController
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2), switch=OVSSwitch, controller=None)
try:
    net.addController("c0", controller=RemoteController, ip="192.168.56.1", port=6633)
except Exception:
    print("no controller")
net.start()
net.pingAll()
net.stop()
