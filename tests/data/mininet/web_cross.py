"""Web fetches while cross traffic of UDP comes and goes; files on a server in the network, wget and curl at the clients."""

import time

from mininet.link import TCIntf
from mininet.net import Mininet
from mininet.node import Controller, OVSKernelSwitch
from mininet.util import custom

net = Mininet(switch=OVSKernelSwitch, controller=Controller, intf=custom(TCIntf, bw=10, delay="10ms"), build=False)
c0 = net.addController("c0")
server, client, noise = (
    net.addHost("server", ip="10.0.0.1/24"),
    net.addHost("client", ip="10.0.0.2/24"),
    net.addHost("noise", ip="10.0.0.3/24"),
)
switch = net.addSwitch("s1", failMode="standalone")
for host in (server, client, noise):
    net.addLink(host, switch)
net.build()
net.start()
server.cmd(
    "mkdir -p /tmp/files && cd /tmp/files && for s in 10 100 1000; do head -c ${s}000 /dev/urandom > $s.bin; done"
)
server.cmd("cd /tmp/files && python3 -m http.server 80 > /tmp/server.log 2>&1 &")
client.cmd("iperf -s -u > /tmp/udp.log 2>&1 &")
time.sleep(1)
for rate in (None, "4M", "8M"):
    if rate is not None:
        noise.cmd("iperf -u -c 10.0.0.2 -b %s -t 8 > /dev/null 2>&1 &" % rate)
        time.sleep(0.5)
    took = [
        float(client.cmd("curl -s -o /dev/null -w '%%{time_total}' http://10.0.0.1/%d.bin" % size))
        for size in (10, 100, 1000)
    ]
    print(rate, " ".join("%.3f" % value for value in took))
    client.cmd("wget -q -O /dev/null http://10.0.0.1/10.bin && echo fetched")
    time.sleep(10)
net.stop()
