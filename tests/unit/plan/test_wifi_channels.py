"""Links of a medium become channels, and their lanes with a rate transmitters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import DeviceChange, Qdisc, Run
from longhaul.orchestrator.plan.wifi_channels import find_channels
from longhaul.orchestrator.spec.graph import Graph
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.topology import build_graph
from longhaul.orchestrator.system.errors import PlanError

HEAD = "from mininet.topo import Topo\nclass Lab(Topo):\n    def build(self):\n"


def compiled(topology: str, **changes: Any) -> Run:
    written = {
        "experiment": "made",
        "emulation": "chain",
        "topology": topology,
        "flows": [{"name": "a", "cc": "cubic"}],
        "duration": "10 s",
        **changes,
    }
    return compile_plan(parse_experiment(written)).runs[0]


def transmitters(run: Run) -> dict[str, Qdisc]:
    return {end.dev: qdisc for end in run.ends for qdisc in end.qdiscs if qdisc.kind == "lh_dcf"}


def lab(tmp_path: Path, links: str) -> Graph:
    """A Topo whose links are lines of three words: two nodes (switches begin with s) and the medium's sides, of 1 and 2."""
    lines = []
    nodes = sorted({node for line in links.splitlines() for node in line.split()[:2]})
    lines += [f"        self.add{'Switch' if node[0] == 's' else 'Host'}('{node}')" for node in nodes]
    for line in links.splitlines():
        near, far, sides = line.split()
        options = [f"params{side}={{'bw': 1, 'medium': '802.11'}}" for side in sides if side != "-"]
        lines.append(f"        self.addLink({', '.join([repr(near), repr(far), *options])})")
    (tmp_path / "lab.py").write_text(HEAD + "\n".join(lines) + "\n")
    return build_graph(f"{tmp_path}/lab.py:Lab", {})


def test_the_base_station_and_every_station_send_on_one_channel() -> None:
    run = compiled("mixed_wireless", params={"n": 3, "wifi": "2 Mbit/s", "queue": "20 packets"}, flows=pairs(3))
    found = transmitters(run)
    # A station's own queue is in its stage: TCP does not feel it.
    assert set(found) == {"base-air", "x4-air", "x5-air", "x6-air"}
    assert {qdisc.options["medium"] for qdisc in found.values()} == {1}
    assert {qdisc.options["rate_bps"] for qdisc in found.values()} == {2_000_000}
    assert {qdisc.options["basic_rate_bps"] for qdisc in found.values()} == {1_000_000}
    assert {qdisc.options["limit"] for qdisc in found.values()} == {20}
    assert len({qdisc.options["seed"] for qdisc in found.values()}) == len(found)
    assert [module.name for module in run.modules if module.name.startswith("sch_")] == ["sch_lh_dcf"]
    assert {link.queue for link in run.links if link.dev in found} == {"2:"}


def pairs(count: int) -> list[dict[str, object]]:
    return [
        {"name": f"f{number}", "cc": "cubic", "sender": f"w{number}", "receiver": f"m{number}"}
        for number in range(1, count + 1)
    ]


def test_a_run_without_a_channel_loads_no_module_for_one() -> None:
    run = compiled("dumbbell", path={"bandwidth": "10 Mbit/s", "rtt": "10 ms"})
    assert not transmitters(run)
    assert not run.modules


def test_cells_are_separate_channels(tmp_path: Path) -> None:
    graph = lab(tmp_path, "h1 s1 1\nh2 s1 1\nh3 s2 1\ns1 s3 -\ns2 s3 -")
    assert find_channels(graph) == {("h1", "s1"): 1, ("h2", "s1"): 1, ("h3", "s2"): 2}


def test_a_joined_pair_of_cells_is_one_channel(tmp_path: Path) -> None:
    graph = lab(tmp_path, "h1 s1 1\nh2 s2 1\nh3 s3 1\ns1 s2 12")
    channels = find_channels(graph)
    assert channels == {("h1", "s1"): 1, ("h2", "s2"): 1, ("s1", "s2"): 1, ("s2", "s1"): 1, ("h3", "s3"): 2}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"path": {"bandwidth": "2 Mbit/s"}}, "they share one channel, which has one rate"),
        ({"path": {"queue": "codel"}}, "whose queues are droptail, not codel"),
        ({"path": {"buffer": "30 KB"}}, "whose queues count packets, not 30 KB"),
        (
            {"schedule": [{"at": "1 s", "path": {"bandwidth": "2 Mbit/s"}}]},
            "they share one channel, which has one rate: base-air 2 Mbit/s and m1-air 1 Mbit/s",
        ),
    ],
)
def test_impossible_changes_of_a_channel_are_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(PlanError, match=what):
        compiled("mixed_wireless", **changes)


def test_a_channel_changes_its_rate_as_a_whole() -> None:
    slower = {"base-air": {"bandwidth": "500 kbit/s"}, **{f"m{n}-air": {"bandwidth": "500 kbit/s"} for n in (1, 2)}}
    run = compiled("mixed_wireless", flows=pairs(2), schedule=[{"at": "1 s", "links": slower}])
    changes = [change for change in run.schedule if isinstance(change, DeviceChange)]
    assert {change.dev for change in changes} == set(transmitters(run))
    for change in changes:
        assert change.qdiscs[0].options["rate_bps"] == 500_000
        # The rate of control frames does not change.
        assert change.qdiscs[0].options["basic_rate_bps"] == 1_000_000
