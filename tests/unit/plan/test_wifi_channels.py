"""Links of a medium become channels, and their lanes with a rate transmitters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.queues.tc_words import tc_command
from longhaul.orchestrator.plan.run import DeviceChange, Qdisc, Run
from longhaul.orchestrator.plan.wifi_channels import find_channels
from longhaul.orchestrator.spec.graph import Graph
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.topology import build_graph
from longhaul.orchestrator.system.errors import LonghaulError, PlanError

SLOWER = {f"{name}-air": {"bandwidth": "100 kbit/s"} for name in ("base", "m1")}
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


AGGREGATES = {"wifi": "65 Mbit/s", "aggregate": 32}


def test_a_channel_of_802_11n_aggregates_by_receiver() -> None:
    run = compiled("mixed_wireless", params=AGGREGATES | {"n": 2, "frame_loss": "25 %"}, flows=pairs(2))
    found = transmitters(run)
    assert {dev: qdisc.options["one_receiver"] for dev, qdisc in found.items()} == {
        "base-air": False,
        "x3-air": True,
        "x4-air": True,
    }
    for qdisc in found.values():
        options = qdisc.options
        assert [options[name] for name in ("ht", "aggregate", "rts")] == [True, 32, False]
        assert [options[name] for name in ("rate_bps", "basic_rate_bps", "overhead_bytes")] == [
            65_000_000,
            24_000_000,
            38,
        ]
        assert options["frame_loss_2p32"] == 2**30
    assert "aggregates of up to 32 frames" in tc_command("base-air", found["base-air"])


def test_stations_that_send_to_each_other_have_several_receivers() -> None:
    flows = [
        {"name": "up", "cc": "reno", "sender": "m1", "receiver": "w1"},
        {"name": "across", "cc": "reno", "sender": "m1", "receiver": "m2"},
    ]
    found = transmitters(compiled("mixed_wireless", params=AGGREGATES | {"n": 2}, flows=flows))
    assert {dev: qdisc.options["one_receiver"] for dev, qdisc in found.items()} == {
        "base-air": True,
        "x3-air": False,
        "x4-air": True,
    }


def test_a_channel_of_1999_has_no_option_of_802_11n() -> None:
    run = compiled("mixed_wireless")
    assert all("ht" not in qdisc.options for qdisc in transmitters(run).values())


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"params": {"aggregate": 0}}, "a whole number from 1 to 64"),
        ({"params": {"aggregate": 65}}, "a whole number from 1 to 64"),
        ({"params": {"aggregate": "32"}}, "a whole number from 1 to 64"),
        ({"params": {"frame_loss": "5 %"}}, "frame_loss needs a medium of 802.11n"),
        ({"params": AGGREGATES | {"frame_loss": "101 %"}}, "a share from 0 % to 100 %"),
        ({"params": AGGREGATES | {"wifi": "100 kbit/s"}}, "which 100 kbit/s does not give"),
        ({"params": AGGREGATES | {"wifi": "65.1 Mbit/s"}}, "which 65.1 Mbit/s does not give"),
        ({"params": AGGREGATES | {"wifi": "600 Mbit/s"}}, "which 600 Mbit/s does not give"),
        (
            {"params": AGGREGATES | {"wifi": "2 Mbit/s"}},
            "a packet of 1500 bytes takes 6200 us at 2 Mbit/s and may take 5484",
        ),
        ({"params": AGGREGATES, "path": {"mtu": 9000}}, "carry packets of up to 2296 bytes, not 9000"),
        ({"params": AGGREGATES, "path": {"queue": "cake"}}, "whose queues are droptail, not cake"),
        (
            {"params": AGGREGATES, "schedule": [{"at": "1 s", "links": SLOWER}]},
            "which 100 kbit/s does not give",
        ),
    ],
)
def test_what_802_11n_does_not_have_is_refused(changes: dict[str, Any], what: str) -> None:
    with pytest.raises(LonghaulError, match=what):
        compiled("mixed_wireless", **changes)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"medium": "802.11", "aggregate": 2}, "aggregate needs a medium of 802.11n"),
        ({"aggregate": 2}, "aggregate needs a medium of 802.11n"),
        ({"medium": "802.11n", "aggregate": 0}, "aggregate 0: a whole number of frames from 1 to 64 is needed"),
        ({"medium": "802.11n", "aggregate": 65}, "aggregate 65: a whole number of frames"),
        ({"medium": "802.11n", "aggregate": "8"}, "aggregate '8': a whole number of frames"),
        ({"medium": "802.11n", "aggregate": True}, "aggregate True: a whole number of frames"),
        ({"medium": "802.11n", "frame_loss": 200}, "frame_loss 200: a number of per cent up to 100"),
        ({"medium": "802.11ac"}, "medium '802.11ac' is unknown; 802.11 and 802.11n are known"),
    ],
)
def test_impossible_options_of_a_link_are_refused(tmp_path: Path, options: dict[str, object], what: str) -> None:
    lines = f"        self.addLink(self.addHost('h1'), self.addSwitch('s1'), params1={ {'bw': 65} | options!r})\n"
    (tmp_path / "lab.py").write_text(HEAD + lines)
    with pytest.raises(PlanError, match=what):
        build_graph(f"{tmp_path}/lab.py:Lab", {})


def test_a_channel_has_one_medium(tmp_path: Path) -> None:
    lines = "        air = self.addSwitch('s1')\n"
    for host, medium in (("h1", "802.11"), ("h2", "802.11n")):
        lines += f"        self.addLink(self.addHost('{host}'), air, params1={{'bw': 65, 'medium': '{medium}'}})\n"
    (tmp_path / "lab.py").write_text(HEAD + lines)
    with pytest.raises(PlanError, match=r"which has one medium: h1-s1 802\.11 and h2-s1 802\.11n"):
        compiled(f"{tmp_path}/lab.py:Lab", flows=[{"name": "a", "cc": "cubic", "sender": "h1", "receiver": "h2"}])


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
