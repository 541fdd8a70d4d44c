"""Mininet's own commands at the prompt of every shipped topology, and of a user's own, in guests."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from longhaul.topologies import CATALOG
from tests.mininet.test_scripts import mininet

# Parameters that make each small, and two of its hosts.
SHIPPED = {
    "dumbbell": ("n: 2", "a1", "b2"),
    "evn": ("n: 3", "t1", "correlator"),
    "incast": ("n: 3", "a3", "b1"),
    "lan_and_wan": ("", "far1", "b2"),
    "long_path": ("hops: 3", "a1", "b1"),
    "mixed_wireless": ("n: 2", "w2", "m1"),
    "parking_lot": ("k: 2", "a2", "b0"),
}
# `iperf` measures for five seconds, and in real time; here for one.
SHORT = "px type(net).iperf.__defaults__ = (None, 'TCP', '10M', None, 1, 5001)\n"
OWN = """
from mininet.topo import Topo

class Star(Topo):
    def build(self):
        centre = self.addSwitch("s1")
        for name in ("left", "right", "top"):
            self.addLink(self.addHost(name), centre, bw=10, delay="5ms")
"""


def test_every_shipped_topology_is_here() -> None:
    assert set(SHIPPED) == set(CATALOG)


def write_experiment(name: str, folder: Path) -> tuple[str, str]:
    """An experiment on the topology; the names of two hosts."""
    if name == "own":
        (folder / "own.py").write_text(OWN)
        topology, near, far = "./own.py:Star", "left", "top"
    else:
        params, near, far = SHIPPED[name]
        topology = f"{name}\nparams: {{{params}}}"
    path = "path: {bandwidth: 10 Mbit/s, rtt: 40 ms}\n" if name == "dumbbell" else ""
    flow = f"{{name: one, cc: cubic, sender: {near}, receiver: {far}}}"
    (folder / "net.yaml").write_text(f"experiment: net\ntopology: {topology}\n{path}flows: [{flow}]\nduration: 5 s\n")
    return near, far


@pytest.mark.parametrize("name", [*SHIPPED, "own"])
def test_commands_at_the_prompt_of_a_topology(name: str, tmp_path: Path) -> None:
    near, far = write_experiment(name, tmp_path)
    typed = f"{SHORT}net\ndump\nlinks\npingall\n{near} ping -c1 {far}\niperf {near} {far}\nxterm {near}\n"
    done = mininet("net.yaml", folder=tmp_path, typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    _, _, shown_net, dumped, links, pinged_all, pinged, measured, refused, _ = done.stdout.split("mininet> ")
    assert re.search(rf"^{near} {near}-", shown_net, re.MULTILINE)
    assert f"<PlanHost {near}: {near}-" in dumped and f"<PlanHost {far}: {far}-" in dumped
    wires = links.splitlines()[1:]
    assert len(wires) > 2 and all("(OK OK)" in wire for wire in wires if wire.strip())
    assert "*** Results: 0% dropped" in pinged_all
    assert "1 packets transmitted, 1 received" in pinged
    rates = re.search(r"\*\*\* Results: \['([\d.]+) Mbits/sec', '([\d.]+) Mbits/sec'\]", measured)
    assert rates is not None and float(rates[1]) > 0
    assert refused.splitlines()[1:] == [
        f"xterm: a guest has no display for windows; type `{near} COMMAND` at this prompt"
    ]


def test_errors_leave_the_prompt_and_a_link_comes_back(tmp_path: Path) -> None:
    write_experiment("long_path", tmp_path)
    typed = "dpctl dump-flows\nsource nofile\nlink r1 r2 down\na1 ping -c1 -W1 b1\nlink r1 r2 up\nsh sleep 1\npingall\n"
    done = mininet("net.yaml", folder=tmp_path, typed=typed)
    assert (done.returncode, done.stderr) == (0, "")
    assert "dpctl: the switches are Linux bridges" in done.stdout
    assert "source nofile: AttributeError" in done.stdout
    assert "1 packets transmitted, 0 received" in done.stdout
    assert "*** Results: 0% dropped (30/30 received)" in done.stdout
    assert "Traceback" not in done.stdout
