"""Reading a Mininet Topo: its options become numbers, and options that no run supports are refused by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.spec import topology
from longhaul.orchestrator.spec.graph import Carriage, Graph
from longhaul.orchestrator.spec.topology import build_graph
from longhaul.orchestrator.system.errors import PlanError

HEAD = "from mininet.topo import Topo\nfrom mininet.link import TCLink\nfrom mininet.node import CPULimitedHost\nclass Lab(Topo):\n"


def lab(tmp_path: Path, body: str, params: dict[str, Any] | None = None, signature: str = "self") -> Graph:
    file = tmp_path / "lab.py"
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    file.write_text(f"{HEAD}    def build({signature}):\n{lines}")
    return build_graph(f"{file}:Lab", params or {})


TWO = 'self.addHost("h1"); self.addHost("h2"); self.addSwitch("s1")\n'


def test_tc_link_options_are_read_in_mininets_units(tmp_path: Path) -> None:
    graph = lab(
        tmp_path,
        TWO
        + 'self.addLink("h1", "s1", cls=TCLink, bw=10, delay="5ms", jitter="250us", loss=1, max_queue_size=100)\n'
        + 'self.addLink("s1", "h2", params1={"bw": 2.5}, params2={"delay": 1500})',
    )
    there = Carriage(10_000_000, 5000, 250, 0.01, 100)
    assert (graph.lanes["h1", "s1"], graph.lanes["s1", "h1"]) == (there, there)
    assert graph.lanes["s1", "h2"] == Carriage(2_500_000)
    assert graph.lanes["h2", "s1"] == Carriage(delay_us=1500)


def test_parameters_reach_the_class(tmp_path: Path) -> None:
    body = 'for i in range(n): self.addHost(f"h{i}"); self.addLink(self.addSwitch("s1"), f"h{i}", delay=delay)'
    graph = lab(tmp_path, body, {"n": 3, "delay": "2ms"}, "self, n=1, delay=None")
    assert len(graph.hosts) == 3
    assert graph.lanes["s1", "h2"].delay_us == 2000


def test_a_path_uses_switches_and_routers_but_never_an_end_host(tmp_path: Path) -> None:
    body = (
        'h = [self.addHost(f"h{i}") for i in range(3)]; s = [self.addSwitch(f"s{i}") for i in range(2)]\n'
        'r = self.addHost("r1")\n'
        "self.addLink(h[0], s[0]); self.addLink(s[0], r); self.addLink(r, s[1]); self.addLink(s[1], h[1]); self.addLink(s[1], h[2])"
    )
    graph = lab(tmp_path, body)
    assert graph.route("h0", "h2") == ["h0", "s0", "r1", "s1", "h2"]
    assert (graph.is_end("r1"), graph.is_end("h1")) == (False, True)
    assert graph.route("h0", "unknown") is None


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (TWO + 'self.addLink("h1", "s1", speedup=4)', "link h1-s1: speedup is not supported"),
        (TWO + 'self.addLink("h1", "s1", use_hfsc=True)', "link h1-s1: use_hfsc is not supported"),
        (TWO + 'self.addLink("h1", "s1", delay="5 parsecs")', "delay '5 parsecs'"),
        (TWO + 'self.addLink("h1", "s1", bw="fast")', "bw 'fast'"),
        (TWO + 'self.addLink("h1", "s1", loss=120)', "loss 120"),
        (TWO + 'self.addLink("h1", "s1"); self.addLink("h1", "s1")', "two links between h1 and s1"),
        ('self.addHost("h1", cls=CPULimitedHost, cpu=.5)', "node h1: its class CPULimitedHost is not supported"),
        ('self.addHost("h1", cores=1)', "node h1: cores is not supported"),
        ('self.addHost("h 1")', "node 'h 1': a name"),
        (
            '[self.addSwitch(f"s{i}") for i in range(3)]; [self.addLink(f"s{i}", f"s{(i+1)%3}") for i in range(3)]',
            "switches s0, s1, s2 form a loop",
        ),
        (TWO + 'self.addLink("h1", "s1"); self.pairs = [("h1", "h9")]', "h9, of pairs or bottlenecks, is not a node"),
        (TWO + 'self.addLink("h1", "s1"); self.pairs = [("h1", "s1")]', "s1, of pairs, is a switch"),
        (TWO + 'self.addLink("h1", "s1"); self.bottlenecks = [("s1", "h2")]', "no link joins s1 and h2"),
        (TWO + 'self.addLink("h1", "s1", medium="smoke", bw=1)', "medium 'smoke'"),
        ("raise ValueError('no such lab')", "ValueError: no such lab"),
        ("import not_there", "No module named 'not_there'"),
    ],
)
def test_unsupported_options_are_refused_by_name(tmp_path: Path, body: str, named: str) -> None:
    with pytest.raises(PlanError) as caught:
        lab(tmp_path, body)
    assert named in str(caught.value)
    assert "lab.py:Lab" in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (TWO + 'self.addLink("h1", "s1", delay="1e400s")', "link h1-s1: delay '1e400s': a time as in 10ms is needed, of at most an hour"),
        (TWO + 'self.addLink("h1", "s1", jitter="4e9us")', "jitter '4e9us': a time as in 10ms is needed, of at most an hour"),
        ('import os; os.write(1, b"{}"); os._exit(0)', "its output is not the graph of a Topo; it must print nothing itself"),
        ('import os; os.write(1, b"[1]"); os._exit(0)', "its output is not the graph of a Topo; it must print nothing itself"),
        ('import os; os.write(1, b"hello ")', "its output is not the graph of a Topo; it must print nothing itself"),
        ("import os; os._exit(0)", "it ended without a graph: a file with a Topo must not end the program"),
    ],
)  # fmt: skip
def test_an_invalid_graph_is_refused_in_a_sentence(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(PlanError) as refused:
        lab(tmp_path, body)
    assert message in str(refused.value)


def test_a_parameter_that_the_class_does_not_take_is_named(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="unexpected keyword argument 'size'"):
        lab(tmp_path, "pass", {"size": 3})


def test_a_topo_that_never_ends_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longhaul.orchestrator.spec.topology._LONGEST_S", 1)
    with pytest.raises(PlanError, match=r"not done after 1 s|ended with -"):
        lab(tmp_path, "while True: pass")


def test_output_of_a_topo_does_not_disturb_its_graph(tmp_path: Path) -> None:
    assert lab(tmp_path, 'print("{}"); self.addHost("h1")').hosts == ["h1"]


def test_a_class_of_the_catalogue_is_built_once_per_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    topology._built.cache_clear()
    built = build_graph("dumbbell", {"n": 3})
    with monkeypatch.context() as without:
        without.setattr(topology, "run_untrusted", lambda *_, **__: pytest.fail("a process was started"))
        topology._built.cache_clear()
        assert build_graph("dumbbell", {"n": 3}).lanes == built.lanes
    # An unwritable cache is not an error.
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "file"))
    topology._built.cache_clear()
    assert build_graph("dumbbell", {"n": 3}).lanes == built.lanes
