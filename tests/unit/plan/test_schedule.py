"""A schedule in numbers: the changes of each device, module and socket, and its description."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from longhaul.orchestrator.analysis.fidelity.checks import Check, check_fidelity
from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import DeviceChange, FlowChange, ModuleChange, Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.preview.describe import describe_run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import SpecError
from longhaul.orchestrator.trace.records import EVENT_FLOW_CHANGE, EVENT_PATH_CHANGE
from tests.support.recordings import plain_run, recorded, records, steady, trace_of

APP = {"name": "app", "cc": "apptcp", "params": {"rate": "4 Mbit/s"}}


def at(seconds: int, **change: Any) -> dict[str, Any]:
    return {"at": f"{seconds} s", **change}


def rate(text: str, **more: Any) -> dict[str, Any]:
    return {"app": {"params": {"rate": text}, **more}}


def test_a_path_change_gives_qdiscs_new_options_in_place() -> None:
    (change,) = plain_run(schedule=[at(5, path={"bandwidth": "4 Mbit/s"})]).device_changes
    assert (change.at_us, change.node, change.dev, change.mtu) == (5_000_000, "s1", "s1-b1", None)
    (tbf,) = change.qdiscs
    assert (tbf.handle, tbf.options["rate_bps"]) == ("2:", 4_000_000)


def test_an_mtu_is_each_senders_and_the_frames_of_queues_stay() -> None:
    flows = [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "cubic", "rtt": "80 ms"}]
    run = plain_run(
        flows=flows, schedule=[at(3, path={"mtu": 576}), at(6, path={"mtu": 1500, "bandwidth": "4 Mbit/s"})]
    )
    assert [(change.dev, change.mtu) for change in run.device_changes] == [
        ("a1-s1", 576), ("a2-s1", 576), ("s1-s2", None), ("a1-s1", 1500), ("a2-s1", 1500)
    ]  # fmt: skip
    (tbf,) = next(change for change in run.device_changes if change.dev == "s1-s2").qdiscs
    assert tbf.options["burst_bytes"] == 1600
    assert (run.meaning.mtu, run.least_mtu) == (1500, 576)


def test_changes_at_0_s_apply_from_the_beginning() -> None:
    path = {"bandwidth": "8 Mbit/s", "rtt": "40 ms"}
    dark, light = {"loss": "100 %"}, at(2, path={"loss": 0})
    begun = plain_run(path=path | dark, schedule=[light])
    assert plain_run(path=path, schedule=[at(0, path=dark), light]) == begun
    assert 2**32 - 1 in [qdisc.options.get("loss_2p32") for end in begun.ends for qdisc in end.qdiscs]
    # A buffer keeps its size unless it is named, as in later changes.
    doubled = plain_run(path=path, schedule=[at(0, path={"rtt": "80 ms"})])
    assert doubled.meaning.buffer_packets * 2 == pytest.approx(doubled.meaning.bdp_packets, abs=1)
    run = plain_run(schedule=[at(0, path={"mtu": 576}, flows={"a": {"cc": "bic"}}), at(3, path={"mtu": 1500})])
    assert [(change.at_us, change.dev, change.mtu) for change in run.device_changes] == [
        (0, "a1-s1", 576), (3_000_000, "a1-s1", 1500)
    ]  # fmt: skip
    assert FlowChange(0, 0, "bic") in run.schedule


def test_a_change_of_flows_leaves_the_draws_of_the_path_alone() -> None:
    path = {"bandwidth": "8 Mbit/s", "rtt": "40 ms", "loss": 1e-3}
    dark = at(5, path={"loss": "100 %"})
    alone = plain_run(path=path, schedule=[dark])
    changed = plain_run(path=path, schedule=[at(2, flows={"a": {"cc": "bic"}}), dark])
    assert [*alone.device_changes] == [*changed.device_changes]
    assert next(alone.device_changes).qdiscs[0].options["loss_2p32"] == 2**32 - 1


def test_a_rate_goes_to_the_socket_and_other_parameters_to_the_module() -> None:
    run = plain_run(
        flows=[APP], schedule=[at(5, flows={"app": {"params": {"rate": "2 Mbit/s", "ai_cnt": "20 packets"}}})]
    )
    assert run.schedule == (
        ModuleChange(5_000_000, "tcp_apptcp", {"ai_cnt": "20"}),
        FlowChange(5_000_000, 0, None, 2_000_000),
    )
    assert run.pacing_rates(run.flows[0]) == [(0, 5_000_000, 4_000_000), (5_000_000, 10_000_000, 2_000_000)]


def test_the_next_control_does_not_keep_the_former_rate() -> None:
    run = plain_run(
        flows=[APP], schedule=[at(2, flows={"app": {"cc": "bbr"}}), at(4, flows=rate("1 Mbit/s", cc="apptcp"))]
    )
    assert run.schedule == (FlowChange(2_000_000, 0, "bbr", 0), FlowChange(4_000_000, 0, "apptcp", 1_000_000))


def test_an_entry_means_all_its_flows_and_a_name_one_flow() -> None:
    pair = [{"name": "pair", "cc": "cubic", "count": 2}]
    run = plain_run(
        flows=pair, schedule=[at(2, flows={"pair": {"cc": "newreno"}}), at(4, flows={"pair-2": {"cc": "cubic"}})]
    )
    assert [(change.flow, change.cc) for change in run.schedule if isinstance(change, FlowChange)] == [
        (0, "reno"), (1, "reno"), (1, "cubic")
    ]  # fmt: skip


def test_the_guest_loads_modules_that_flows_switch_to() -> None:
    schedule = [
        at(2, flows={"a": {"cc": "yeah"}}),
        at(4, flows={"a": {"cc": "lhfixed", "params": {"cwnd": "50 packets"}}}),
    ]
    run = plain_run(schedule=schedule)
    assert [(module.name, dict(module.params)) for module in run.modules] == [
        ("tcp_vegas", {}), ("tcp_yeah", {}), ("tcp_lhfixed", {}), ("sch_lh_link", {})
    ]  # fmt: skip
    assert ModuleChange(4_000_000, "tcp_lhfixed", {"cwnd": "50"}) in run.schedule


def test_changes_are_followed_in_the_order_of_time_not_of_writing() -> None:
    # `use_rtt_scaling` is H-TCP's, and the flow has H-TCP by then.
    schedule = [at(6, flows={"a": {"params": {"use_rtt_scaling": "off"}}}), at(3, flows={"a": {"cc": "htcp"}})]
    assert [change.at_us for change in plain_run(schedule=schedule).schedule] == [3_000_000, 6_000_000]


def test_a_module_may_change_once_the_other_flows_of_its_control_are_over() -> None:
    def flows(stop: str) -> list[dict[str, Any]]:
        return [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "cubic", "stop": stop}]

    schedule = [at(5, flows={"a": {"params": {"beta": 800}}})]
    assert plain_run(flows=flows("5 s"), schedule=schedule).schedule
    with pytest.raises(SpecError, match="give b the same"):
        plain_run(flows=flows("6 s"), schedule=schedule)


def test_run_json_reads_back_as_the_same_schedule() -> None:
    schedule = [
        at(5, path={"mtu": 600, "loss": 0.5}, flows={"app": {"cc": "lhfixed", "params": {"cwnd": "9 packets"}}})
    ]
    run = plain_run(flows=[APP], schedule=schedule)
    assert {type(change) for change in run.schedule} == {DeviceChange, ModuleChange, FlowChange}
    assert Run.from_json(json.loads(json.dumps(run.as_json()))) == run


def test_fields_of_a_schedule_are_swept_and_set() -> None:
    written = {
        "experiment": "made",
        "path": {"bandwidth": "8 Mbit/s", "rtt": "40 ms"},
        "flows": [APP],
        "duration": "10 s",
        "schedule": [at(5, flows=rate("2 Mbit/s"))],
    }
    sweep = {"schedule.0.flows.app.params.rate": ["1 Mbit/s", "3 Mbit/s"]}
    runs = compile_plan(parse_experiment(written | {"sweep": sweep})).runs
    assert [change.max_pacing_bps for run in runs for change in run.changes_of(run.flows[0])] == [1_000_000, 3_000_000]
    changed = parse_experiment(written, overrides=["schedule.0.flows.app.cc=reno", "schedule.0.flows.app.params={}"])
    assert changed.schedule[0].flows["app"].cc == "reno"
    with pytest.raises(
        SpecError,
        match=r"schedule\.0\.flows\.app\.parms: unknown field.*nearest: schedule\.0\.flows\.app\.params\.rate",
    ):
        parse_experiment(written, overrides=["schedule.0.flows.app.parms.rate=1 Mbit/s"])


def test_changes_are_described_as_text() -> None:
    schedule = [
        at(2, path={"mtu": 600}, flows=rate("2 Mbit/s")),
        at(4, flows={"app": {"cc": "lhfixed", "params": {"cwnd": "9 packets"}}}),
    ]
    run = plain_run(flows=[APP], schedule=schedule)
    text = "\n".join(describe_run(run))
    for line in (
        "at 2 s a1: ip link set dev a1-s1 mtu 600",
        "at 2 s app: rate 2 Mbit/s",
        "at 4 s tcp_lhfixed: cwnd=9",
        "at 4 s app: cc lhfixed, no rate",
    ):
        assert line in text
    assert [(mark.t_s, mark.text) for mark in run_marks(run)] == [
        (2.0, "MTU 600, app: rate 2 Mbit/s"),
        (4.0, "tcp_lhfixed: cwnd=9, app: cc lhfixed, no rate"),
    ]


def test_oddities_of_a_schedule_are_noted() -> None:
    written = {
        "experiment": "made",
        "path": {"bandwidth": "8 Mbit/s", "rtt": "40 ms"},
        "flows": [{"name": "a", "cc": "cubic"}, {"name": "calls", "udp": "1 Mbit/s"}],
        "duration": "10 s",
        "schedule": [at(5, path={"mtu": 600}, flows={"a": {"cc": "hstcp"}})],
    }
    notes = compile_plan(parse_experiment(written)).lint
    assert any("hstcp is highspeed" in note for note in notes)
    assert any("IP fragments them" in note for note in notes)


def test_the_requested_rate_is_that_of_the_window() -> None:
    trace = trace_of(flow=steady(0, 375_000))
    fact = {"id": 0, "connected_us": 0, "completed_us": None, "bytes_received": 3_750_000}
    for schedule, error in (
        ([], 0.25),
        ([at(5, flows=rate("2 Mbit/s"))], 0.0),
        ([at(5, flows={"app": {"cc": "reno"}})], None),
    ):
        run = plain_run(flows=[APP], schedule=schedule)
        found = summarise(run, trace, {"flows": [fact]})["flows"][0]["rate_error"]
        assert found == (error if error is None else pytest.approx(error))


def test_throughput_counts_the_frames_that_were_sent() -> None:
    run = plain_run(flows=[APP], schedule=[at(5, path={"mtu": 600})])
    acks = [{"t_ns": tick * 10**9, "delivered": 100 * tick, "acked_bytes": 54_800 * tick} for tick in range(11)]
    trace = trace_of(ack=acks, flow=steady(0, 54_800))
    facts = {"flows": [{"id": 0, "connected_us": 0, "completed_us": None, "bytes_received": 548_000}]}
    assert summarise(run, trace, facts)["flows"][0]["throughput_bps"] == pytest.approx(100 * 614 * 8)


PATH = {"t_ns": 1_000_000_000, "id": 0xFFFF, "what": EVENT_PATH_CHANGE, "value": 1}
FLOW = {"t_ns": 1_000_000_300, "id": 0, "what": EVENT_FLOW_CHANGE, "value": 0}


def checked(name: str, events: list[dict[str, int]], stopped_us: int | None, cc: str) -> Check:
    """The first such check of a recording whose first flow was to be switched to bic, and whose path was to change."""
    run, trace, facts = recorded("lossy_pair")
    schedule = (FlowChange(1_000_000, 0, "bic"), DeviceChange(1_000_000, "s1", "s1-b1"))
    facts["flows"][0] |= {"stopped_us": stopped_us, "cc": cc}
    checks = check_fidelity(replace(run, schedule=schedule), replace(trace, events=records("event", events)), facts)
    return next(check for check in checks if check.name == name)


@pytest.mark.parametrize(
    ("events", "stopped_us", "ok"),
    [
        ([PATH, FLOW], None, True),
        ([PATH], 900_000, True),
        ([PATH], None, False),
        ([FLOW], None, False),
        ([PATH, FLOW | {"t_ns": 1_500_000_000}], None, False),
    ],
)
def test_every_change_was_made_at_its_time(events: list[dict[str, int]], stopped_us: int | None, ok: bool) -> None:
    assert checked("scheduled changes", events, stopped_us, "bic").ok is ok


@pytest.mark.parametrize(
    ("events", "cc", "ok"),
    [([PATH, FLOW], "bic", True), ([PATH, FLOW], "cubic", False), ([PATH], "cubic", True), ([PATH], "bic", False)],
)
def test_the_control_in_use_is_the_last_one_switched_to(events: list[dict[str, int]], cc: str, ok: bool) -> None:
    assert checked("congestion control in use", events, 900_000, cc).ok is ok
