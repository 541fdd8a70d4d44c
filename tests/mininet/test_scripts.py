"""User-supplied Mininet scripts, mn itself, and the prompt, in guests."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longhaul import topologies
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.topologies import CATALOG
from tests.support.programs import run_program

RERUNS = 6

SCRIPT = """
import random, sys, time
from mininet.link import TCLink
from mininet.log import setLogLevel
from mininet.net import Mininet
from mininet.topo import Topo
from words import greeting

class Two(Topo):
    def build(self):
        self.addLink(self.addHost("h1"), self.addHost("h2"), cls=TCLink, bw=10)

setLogLevel("critical")
net = Mininet(topo=Two(), controller=None)
net.start()
h1, h2 = net["h1"], net["h2"]
print(h1.cmd("ping -c 3", h2.IP()))
h2.cmd("iperf3 -s -1 -D")
time.sleep(0.1)
print(h1.cmd("iperf3 -c", h2.IP(), "-t 1"))
print(greeting, random.random(), time.time(), sys.argv[1:], sys.stdin.read())
print("complaint", file=sys.stderr)
net.stop()
sys.exit(7)
"""


def mininet(*words: str, folder: Path, typed: str = "") -> subprocess.CompletedProcess[str]:
    return run_program(
        [sys.executable, "-m", "longhaul.cli.main", "mininet", *words],
        cwd=folder,
        env={**os.environ, "LONGHAUL_HOME": str(folder / "home")},
        input=typed,
    )


@pytest.fixture
def script(tmp_path: Path) -> Path:
    (tmp_path / "two.py").write_text(SCRIPT)
    (tmp_path / "words.py").write_text("greeting = 'hello'\n")
    return tmp_path


def test_a_script_runs_as_it_would_here(script: Path) -> None:
    done = mininet("two.py", "a", "--topo", "x", folder=script, typed="the script ignores this")
    assert done.returncode == 7, done.stderr
    assert done.stderr.endswith("complaint\n")
    assert "3 packets transmitted, 3 received" in done.stdout
    assert "iperf Done." in done.stdout
    assert "hello" in done.stdout
    assert "['a', '--topo', 'x'] \n" in done.stdout
    assert "\r" not in done.stdout.replace("\r\n", "\n")
    assert sorted(path.name for path in script.iterdir()) == ["home", "two.py", "words.py"]


def test_reruns_of_a_script_are_identical(script: Path) -> None:
    with ThreadPoolExecutor(2) as workers:
        ends = list(workers.map(lambda _: mininet("two.py", folder=script), range(RERUNS)))
    assert {end.returncode for end in ends} == {7}
    assert len({end.stdout for end in ends}) == 1
    assert mininet("--seed", "2", "two.py", folder=script).stdout != ends[0].stdout


def test_mn_itself(tmp_path: Path) -> None:
    words = ["mn", "--", "--topo", "single,2", "--switch", "lxbr", "--controller", "none", "--test", "pingall"]
    done = mininet(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "0% dropped (2/2 received)" in done.stdout + done.stderr


def test_a_topology_behind_a_link_is_found(tmp_path: Path) -> None:
    """Folders below /tmp are empty in a guest, except those that the arguments name."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "here").mkdir()
    (tmp_path / "link").symlink_to("folder")
    shutil.copy(Path(topologies.__file__).parent / CATALOG["dumbbell"].file, tmp_path / "folder" / "mine.py")
    words = (
        "--custom",
        str(tmp_path / "link" / "mine.py"),
        "--topo",
        "dumbbell,n=1",
        "--link",
        "tc",
        "--switch",
        "lxbr",
    )
    done = mininet("mn", "--", *words, "--controller", "none", "--test", "pingall", folder=tmp_path / "here")
    assert "*** Results: 0% dropped" in done.stdout + done.stderr


# Topologies small enough to ping every pair; mixed_wireless too, in the form that Mininet supports.
SMALL = {"parking_lot": "k=2", "mixed_wireless": "n=2", "long_path": "hops=3", "incast": "n=3", "evn": "n=3"}


@pytest.mark.parametrize("name", CATALOG)
def test_a_topology_starts_in_stock_mininet(name: str, tmp_path: Path) -> None:
    file = Path(topologies.__file__).parent / CATALOG[name].file
    words = [
        "--custom",
        str(file),
        "--topo",
        f"{name},{SMALL.get(name, 'n=2' if name == 'dumbbell' else '')}".rstrip(","),
    ]
    done = mininet(
        "mn",
        "--",
        *words,
        "--link",
        "tc",
        "--switch",
        "lxbr",
        "--controller",
        "none",
        "--test",
        "pingall",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "*** Results: 0% dropped" in done.stdout + done.stderr


def test_mn_with_its_own_defaults(tmp_path: Path) -> None:
    """Its switch is Open vSwitch's, its controller OpenFlow's reference: here a bridge learns by itself."""
    done = mininet("mn", "--", "--topo", "single,2", "--test", "pingall", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "*** Results: 0% dropped" in done.stdout + done.stderr


def test_the_prompt_on_an_experiments_net(tmp_path: Path) -> None:
    run = compile_plan(load_experiment("quick"), backend="mininet", where="guest").runs[0]
    (flow,), link = run.flows, run.links[0]
    typed = f"nodes\n{link.node} tc qdisc show dev {link.dev}\n{flow.from_node} ping -c 1 {flow.address}\n"
    done = mininet("quick", folder=tmp_path, typed=typed)
    assert done.returncode == 0, done.stderr
    for expected in (
        f"{flow.from_node} iperf3 -c {flow.address} -p {flow.port} -C cubic",
        "available nodes are",
        "tbf 2: parent 1:1 rate 10Mbit",
        "1 packets transmitted, 1 received",
    ):
        assert expected in done.stdout


def test_mininets_own_commands_work_at_an_experiments_prompt(tmp_path: Path) -> None:
    # The one flow is from a1 to b1; b3 has none.
    (tmp_path / "three.yaml").write_text(
        "experiment: three\nparams: {n: 3}\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms}\n"
        "flows: [{name: one, cc: cubic}]\nduration: 5 s\n"
    )
    typed = "links\npingall\na1 ping -c 1 b3\niperf a1 b2\npy a1.pexec('pwd')\n"
    done = mininet("three.yaml", folder=tmp_path, typed=typed)
    assert done.returncode == 0, done.stderr
    assert "MISSING" not in done.stdout
    assert done.stdout.count("(OK OK)") == 7
    assert "*** Results: 0% dropped (30/30 received)" in done.stdout
    assert "PING 10.0.0.6 " in done.stdout, "the name is an address"
    assert "64 bytes from 10.0.0.6: icmp_seq=1" in done.stdout
    rates = re.search(r"\*\*\* Results: \['([\d.]+) Mbits/sec', '([\d.]+) Mbits/sec'\]", done.stdout)
    assert rates is not None
    # A busy machine sends less, but never more than the link and its buffer take.
    assert 0 < float(rates[1]) < 10.1
    assert 0 < float(rates[2]) < 12
    assert "('/run/longhaul\\n', '', 0)" in done.stdout


def test_a_prompt_reaches_hosts_behind_routers(tmp_path: Path) -> None:
    (tmp_path / "row.yaml").write_text(
        "experiment: row\ntopology: ./row.py:Row\nflows: [{name: one, cc: cubic, sender: h1, receiver: h2}]\nduration: 5 s\n"
    )
    (tmp_path / "row.py").write_text(
        "from mininet.topo import Topo\n\n\nclass Row(Topo):\n    def build(self):\n"
        "        h1, r1, r2, h2, h3 = (self.addHost(name) for name in ('h1', 'r1', 'r2', 'h2', 'h3'))\n"
        "        for near, far in ((h1, r1), (r1, r2), (r2, h2), (r2, h3)):\n"
        "            self.addLink(near, far, bw=10, delay='5ms')\n"
    )
    done = mininet("row.yaml", folder=tmp_path, typed="pingall\nh3 ping -c 1 h1\n")
    assert done.returncode == 0, done.stderr
    assert "*** Results: 0% dropped (20/20 received)" in done.stdout


def test_a_script_where_a_guest_has_nothing_is_refused(tmp_path: Path) -> None:
    with tempfile.NamedTemporaryFile(suffix=".py", dir="/tmp") as script:
        done = mininet(script.name, folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        f"longhaul: running {script.name}: a guest has an empty /tmp of its own; move the script to a folder"
    ]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nosuch.py"], "the file does not exist"),
        (["--in", "host", "two.py"], "scripts run in guests only"),
        (["--clock", "virtual", "quick"], "virtual time does not wait for input at a prompt"),
        (["--clock", "slow", "two.py"], "known: real, virtual"),
        (["quick", "more"], "takes no more arguments"),
    ],
)
def test_impossible_arguments_are_refused_in_a_sentence(script: Path, words: list[str], sentence: str) -> None:
    done = mininet(*words, folder=script)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
