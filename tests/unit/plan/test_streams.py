"""Transfers over several streams in the experiment and in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Run, compile_plan
from longhaul.orchestrator.plan.cost import data_packets
from longhaul.orchestrator.plan.meaning import Group
from longhaul.orchestrator.spec.measures import OF_TOTALS
from longhaul.orchestrator.system.errors import SpecError
from tests.support.guests import experiment

SCAN: dict[str, Any] = {"name": "scan", "cc": "cubic", "size": "2 TB", "streams": 4}


def planned(*flows: dict[str, Any], **changes: Any) -> Run:
    return compile_plan(experiment(flows=list(flows), **changes)).runs[0]


def test_streams_share_their_name_their_hosts_and_their_start() -> None:
    run = planned(SCAN, start_jitter="1 s")
    assert [flow.name for flow in run.flows] == ["scan-1", "scan-2", "scan-3", "scan-4"]
    assert {flow.group for flow in run.flows} == {Group("scan", 4)}
    assert {flow.bytes for flow in run.flows} == {2 * 10**12}
    assert {flow.share_bytes for flow in run.flows} == {5 * 10**11}
    assert len({(flow.from_node, flow.to_node, flow.start_us) for flow in run.flows}) == 1
    assert len({flow.port for flow in run.flows}) == 4
    assert Run.from_json(run.as_json()) == run


def test_transfers_take_turns_as_flows_do() -> None:
    two = planned(SCAN | {"count": 2, "streams": 2, "spread": "1 s"}, topology="parking_lot")
    assert [flow.name for flow in two.flows] == ["scan-1-1", "scan-1-2", "scan-2-1", "scan-2-2"]
    first, second = ({(flow.from_node, flow.to_node) for flow in two.flows[at : at + 2]} for at in (0, 2))
    assert len(first) == len(second) == 1
    single = planned(SCAN | {"count": 2, "streams": 1, "spread": "1 s"}, topology="parking_lot")
    assert [{(flow.from_node, flow.to_node)} for flow in single.flows] == [first, second]
    assert [flow.start_us for flow in two.flows] == [0, 0, 1_000_000, 1_000_000]


def test_one_stream_is_the_flow_itself() -> None:
    assert planned(SCAN | {"streams": 1}) == planned({"name": "scan", "cc": "cubic", "size": "2 TB"})
    assert "group" not in planned(SCAN | {"streams": 1}).as_json()["flows"][0]


def test_streams_send_the_size_once() -> None:
    slow = {"path": {"bandwidth": "10 Gbit/s"}, "duration": "60 s"}
    one, many = (planned(SCAN | {"size": "1 GB", "streams": streams}, **slow) for streams in (1, 10))
    assert data_packets(many) == pytest.approx(data_packets(one), rel=0.001)


def test_the_note_about_a_transfer_names_it() -> None:
    (note,) = [one for one in compile_plan(experiment(flows=[SCAN])).lint if "cannot end" in one]
    assert note.startswith("flow scan cannot end in this run: 2 TB take")


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        ({"size": None}, "1 without a size"),
        ({"tool": "iperf3", "size": "1 GB"}, "1 with tool iperf3"),
        ({"cc": None, "size": None, "udp": "1 Mbit/s"}, "1 with udp"),
        ({"size": None, "web": {}}, "1 with web"),
        ({"size": None, "command": {"server": ["a"], "client": ["b"]}}, "1 with command"),
        ({"streams": 0}, "a number from 1"),
        ({"streams": 101}, "a number up to 100"),
    ],
)
def test_what_streams_do_not_allow(flow: dict[str, Any], message: str) -> None:
    written = {name: value for name, value in (SCAN | flow).items() if value is not None}
    with pytest.raises(SpecError, match=message):
        experiment(flows=[written])


def test_a_total_has_its_own_measures() -> None:
    bounds = {"goodput": "1 Mbit/s", "completion_s": "1 s", "retransmits": 1, "bytes": "1 TB"}
    assert bounds.keys() == {name for name in OF_TOTALS if not name.startswith(("request", "round"))}
    for measure, bound in bounds.items():
        planned(SCAN, expect=[{"measure": measure, "flow": "scan", "at_least": bound}])
    planned(SCAN, expect=[{"measure": "rtt_p50", "flow": "scan-1", "at_most": "1 s"}])
    with pytest.raises(SpecError, match="of several flows together one of goodput"):
        planned(SCAN, expect=[{"measure": "rtt_p50", "flow": "scan", "at_most": "1 s"}])


def test_a_schedule_names_a_transfer_or_its_streams() -> None:
    for name, changed in (("scan", [0, 1, 2, 3]), ("scan-2", [1])):
        run = planned(SCAN, schedule=[{"at": "1 s", "flows": {name: {"cc": "reno"}}}])
        assert [change.flow for flow in run.flows for change in run.changes_of(flow)] == changed


def test_names_of_transfers_are_taken() -> None:
    with pytest.raises(SpecError, match="a name that no other flow has"):
        planned(SCAN | {"count": 2}, {"name": "scan-2", "cc": "cubic"})
