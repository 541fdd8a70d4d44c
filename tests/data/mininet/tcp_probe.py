#!/usr/bin/python3
"""The window of a long transfer as plots of it were made: the module tcp_probe, and `cat /proc/net/tcpprobe` beside the transfer."""

import os
import re
import sys
from subprocess import Popen
from time import sleep, time

from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo


class Bottleneck(Topo):
    def build(self, maxq=40):
        h1, h2, s0 = self.addHost("h1"), self.addHost("h2"), self.addSwitch("s0")
        self.addLink(h1, s0, bw=100, delay="10ms")
        self.addLink(s0, h2, bw=10, delay="10ms", max_queue_size=maxq)


def start_tcpprobe(outfile):
    os.system("rmmod tcp_probe 1>/dev/null 2>&1; modprobe tcp_probe full=1 port=5001;")
    Popen("cat /proc/net/tcpprobe > %s" % outfile, shell=True)


def stop_tcpprobe():
    os.system("killall -9 cat; rmmod tcp_probe")


def parse(outfile):
    for line in open(outfile):
        fields = line.split()
        assert len(fields) == 11, line
        yield float(fields[0]), fields[1], fields[2], int(fields[6]), int(fields[7]), int(fields[9])


def main(cc, seconds):
    os.system("sysctl -w net.ipv4.tcp_congestion_control=%s > /dev/null" % cc)
    net = Mininet(topo=Bottleneck(), link=TCLink)
    net.start()
    h1, h2 = net.get("h1", "h2")
    h1.cmd("sysctl -w net.ipv4.tcp_congestion_control=%s" % cc)
    start_tcpprobe("/tmp/cwnd.txt")
    sleep(0.5)
    start = time()
    h2.cmd("iperf -s -w 16m &")
    client = h1.popen("iperf -c %s -t %d > /tmp/iperf.txt" % (h2.IP(), seconds), shell=True)
    seen = []
    while time() - start < seconds:
        sleep(0.25)
        found = re.search(r"\bcwnd:(\d+)", h1.cmd("ss -tin dport = 5001"))
        if found:
            seen.append((time() - start, int(found.group(1))))
    client.wait()
    sleep(0.5)
    stop_tcpprobe()
    lines = [line for line in parse("/tmp/cwnd.txt") if line[2].endswith(":5001")]
    # The file's time begins half a second before the transfer's, and a line has the window before its segment counts.
    same = sum(next((cwnd for at, _, _, cwnd, _, _ in lines if at - 0.5 > when), None) == window for when, window in seen)
    print("%d lines from %s to %s" % (len(lines), lines[0][1].split(":")[0], lines[0][2]))
    print("%d of %d windows as in ss" % (same, len(seen)))
    print("largest window %d, round trip %d to %d us" % (max(line[3] for line in lines), min(l[5] for l in lines), max(l[5] for l in lines)))
    for second in range(0, seconds, 5):
        print(second, next(cwnd for at, _, _, cwnd, _, _ in lines if at - 0.5 > second + 0.1))
    net.stop()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "reno", int(sys.argv[2]) if len(sys.argv) > 2 else 30)
