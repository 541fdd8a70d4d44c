"""What Mininet scripts did, kept as runs: their numbers are those that the script's own tools print."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import longhaul
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.trace.records import DROP_QUEUE, DROP_RANDOM, Trace
from longhaul.results.run import Run
from tests.mininet.test_scripts import mininet
from tests.support.service import Service

TRANSFER = """
import json, os, sys, time
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo

class Two(Topo):
    def build(self, **link):
        h1, h2, s1 = self.addHost("h1"), self.addHost("h2"), self.addSwitch("s1")
        self.addLink(h1, s1)
        self.addLink(s1, h2, delay="10ms", **link)

net = Mininet(topo=Two(**json.loads(sys.argv[1])), link=TCLink)
net.start()
h1, h2, s1 = net.get("h1", "h2", "s1")
os.system("modprobe tcp_probe port=5201 full=1")
h1.cmd("cat /proc/net/tcpprobe > /tmp/probe.txt &")
h2.cmd("iperf3 -s -1 -D")
time.sleep(0.1)
end = json.loads(h1.cmd("iperf3 -c", h2.IP(), "-J -n", sys.argv[2]))["end"]
time.sleep(1)
h1.cmd("kill %cat")
# A line has the window before the segment, and data on its way only if the first and the second number differ.
lines = [line.split() for line in open("/tmp/probe.txt")]
windows = [int(line[6]) for line in lines if line[2] == "10.0.0.2:5201" and line[4] != line[5]]
queues = json.loads(s1.cmd("tc -s -j qdisc show dev s1-eth2"))
print(json.dumps({
    "received": end["sum_received"]["bytes"], "again": end["sum_sent"]["retransmits"], "windows": windows,
    "drops": {one["kind"]: one["drops"] for one in queues}, "sent": queues[0]["packets"],
}))
net.stop()
"""


def kept(folder: Path, *words: str) -> tuple[str, Run, Trace]:
    """The last line that a script prints, its kept run and that run's trace."""
    done = mininet(*words, folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    about = done.stderr.splitlines()[-1].split()
    assert about[:4] == ["longhaul:", "kept", "as", "run"], done.stderr
    run = longhaul.kept_run(about[4].rstrip(","))
    return (done.stdout.splitlines() or [""])[-1], run, Store(load_settings()).trace(run["run"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "home"))
    (tmp_path / "two.py").write_text(TRANSFER)
    return tmp_path


def transfer(folder: Path, size: str, **link: Any) -> tuple[dict[str, Any], Run, Trace]:
    printed, run, trace = kept(folder, "two.py", json.dumps(link), size)
    return json.loads(printed), run, trace


def test_the_numbers_are_those_of_the_scripts_own_tools(folder: Path) -> None:
    printed, run, trace = transfer(folder, "8M", bw=10, max_queue_size=30)
    _, flow = sorted(run["flows"], key=lambda one: one["bytes"])
    # Its first 37 bytes name the test.
    assert (flow["name"], flow["cc"], flow["bytes"]) == ("h1-h2-5201-2", "cubic", 37 + printed["received"])
    assert flow["retransmits"] == printed["again"] > 0
    # 10 ms each way, and no time for a packet that comes when the shaper has tokens; 1448 of 1514 bytes of a frame are payload.
    assert flow["rtt_ms"]["min"] == 20
    assert 0.9 < flow["goodput_bps"] / (10e6 * 1448 / 1514) < 1
    path = run["path"]
    assert run["links"][0]["name"] == "s1-eth2"
    assert path["drops"] == printed["drops"]["htb"] == printed["drops"]["netem"] and path["losses"] == 0
    assert (trace.drops["state"] == DROP_QUEUE).all() and set(trace.drops["queue_packets"]) == {30}
    assert path["queue_packets"]["max"] == 30
    assert trace.links["tx_packets"][trace.links["id"] == 0][-1] == printed["sent"]
    # Both have the window before the segment counts.
    data = trace.acks[trace.acks["id"] == [one["name"] for one in run["flows"]].index(flow["name"])]
    control = trace.acks[trace.acks["id"] != data["id"][0]]
    assert sorted([*data["cwnd"], *control["cwnd"]]) == sorted(printed["windows"])


def test_losses_of_chance_are_those_of_the_link(folder: Path) -> None:
    printed, run, trace = transfer(folder, "8M", bw=50, loss=1)
    """One per cent each way. Those above a netem count them as drops, too."""
    (link,) = (one for one in run["links"] if one["name"] == "s1-eth2")
    assert link["losses"] == printed["drops"]["netem"] == printed["drops"]["htb"] > 10 and link["drops"] == 0
    assert (trace.drops["state"] == DROP_RANDOM).all()


def test_a_script_runs_again_from_its_kept_text(folder: Path) -> None:
    _, first, _ = transfer(folder, "1M", bw=10)
    again = mininet("two.py", '{"bw": 10}', "1M", folder=folder)
    assert again.stderr.splitlines()[-1].startswith(f"longhaul: identical to the kept run {first['run']}, trace ")
    # Neither its folder nor today's text makes a difference.
    (folder / "elsewhere").mkdir()
    shutil.move(folder / "two.py", folder / "elsewhere")
    assert longhaul.rerun(first["run"]).identical
    (folder / "two.py").write_text("raise SystemExit(9)")
    assert longhaul.rerun(first["run"]).identical
    moved = mininet("elsewhere/two.py", '{"bw": 10}', "1M", folder=folder)
    assert moved.stderr.splitlines()[-1].startswith(f"longhaul: identical to the kept run {first['run']}, trace ")


RATES = """
import time
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

for first in (20, 40):
    net = Mininet(topo=SingleSwitchTopo(2), link=TCLink)
    net.start()
    h1, h2 = net.hosts
    h1.intf().config(bw=first)
    h2.cmd("iperf -s &")
    h1.cmd("iperf -c", h2.IP(), "-t 2")
    h1.cmd("tc qdisc replace dev h1-eth0 root tbf rate 5mbit burst 15k latency 100ms")
    h1.cmd("iperf -c", h2.IP(), "-t 2")
    net.stop()
"""


def test_rates_are_those_of_the_kernel_and_nets_follow_one_another(folder: Path) -> None:
    """Given to Mininet or by tc; a second net has hosts and devices of the same names."""
    (folder / "rates.py").write_text(RATES)
    _, run, _ = kept(folder, "rates.py")
    planned = Store(load_settings()).planned(run["run"])
    assert [(flow["name"], flow["bytes"] > 4e6) for flow in run["flows"]] == [("h1-h2-5001", True)]
    (link,) = (link for link in planned.links if link.dev == "h1-eth0")
    assert [bps for _, _, bps in planned.link_rates(link)] == [20_000_000, 5_000_000, 40_000_000, 5_000_000]
    assert 0.5 < run["path"]["utilisation"] < 1


REPLACED = """
import json, time
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2), link=TCLink)
net.start()
h1, h2 = net.hosts
h1.intf().config(bw=5, delay="10ms", max_queue_size=100)
h2.cmd("iperf3 -s -D")
h2.cmd("tcpdump -B 4 -w /dev/null &")
h1.cmd("iperf3 -c", h2.IP(), "-t 3 > /dev/null &")
time.sleep(2)
waiting = json.loads(h1.cmd("tc -s -j qdisc show dev h1-eth0"))[0]
h1.cmd("tc qdisc del dev h1-eth0 root")
time.sleep(3)
print(waiting["qlen"], waiting["drops"])
net.stop()
"""


def test_packets_of_a_queue_that_is_replaced_are_dropped(folder: Path) -> None:
    """Copies for tcpdump, for which it has little room, are not."""
    (folder / "replaced.py").write_text(REPLACED)
    printed, run, trace = kept(folder, "replaced.py")
    waited, dropped = map(int, printed.split())
    assert waited > 20
    assert run["path"]["drops"] == waited + dropped and run["path"]["losses"] == 0
    assert len(set(trace.drops["t_ns"][-waited:])) == 1


WITHOUT_QUEUES = """
from mininet.net import Mininet
from mininet.topo import SingleSwitchTopo

net = Mininet(topo=SingleSwitchTopo(2))
net.start()
net.iperf(seconds=1)
"""


@pytest.mark.parametrize(
    ("text", "code", "why"),
    [
        ("print(1)", 0, "it had no TCP connection between two hosts"),
        ("raise SystemExit(3)", 3, None),
        (WITHOUT_QUEUES, 0, "it had no device with a queue (a link with bw, delay or loss, or tc)"),
    ],
    ids=["nothing", "fails", "no-queue"],
)
def test_what_cannot_be_a_run_is_not_kept(text: str, code: int, why: str | None, folder: Path) -> None:
    (folder / "other.py").write_text(text)
    done = mininet("other.py", folder=folder)
    assert done.returncode == code, done.stderr
    about = [line for line in done.stderr.splitlines() if line.startswith("longhaul: ")]
    assert about == ([] if why is None else [f"longhaul: no run of other.py is kept: {why}"])
    assert not list((folder / "home").glob("runs/*/*"))


def test_nothing_is_kept_where_that_is_asked_for(folder: Path) -> None:
    done = mininet("--no-keep", "two.py", "{}", "1M", folder=folder)
    assert done.returncode == 0 and "longhaul" not in done.stderr
    assert not list((folder / "home").glob("runs/*/*"))


def test_a_service_shows_it_and_starts_no_script(folder: Path) -> None:
    _, run, _ = transfer(folder, "1M")
    service = Service(home=folder / "home")
    service.start()
    try:
        with service.client() as client:
            at = f"/api/v1/runs/{run['run']}"
            # A delay alone is no rate.
            assert client.get(at).json()["document"]["path"]["utilisation"] is None
            queue = client.get(f"{at}/series", params={"measure": "queue", "link": "s1-eth2"}).json()
            assert max(queue["value"]) > 0
            refused = client.post(f"{at}/rerun")
            assert refused.status_code == 409 and f"longhaul rerun {run['run']}" in refused.json()["hint"]
            assert client.post(f"{at}/packets", json={}).status_code == 422
    finally:
        service.stop()
