"""Changes by a schedule during a run, and their effect in a guest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS, CongestionControl
from longhaul.orchestrator.trace.records import EVENT_FLOW_CHANGE, EVENT_PATH_CHANGE
from tests.support.guests import Finished, Runner, experiment
from tests.support.tested_kernels import TESTED_KERNELS

SMALL = {"bandwidth": "20 Mbit/s", "rtt": "40 ms"}


def goodput_bps(done: Finished, begin_s: float, end_s: float, flow: int = 0) -> float:
    got = done.trace.flows[done.trace.flows["id"] == flow]
    first, last = np.interp([begin_s * 1e9, end_s * 1e9], got["t_ns"], got["app_bytes"])
    return float(last - first) * 8 / (end_s - begin_s)


def acks_between(done: Finished, begin_s: float, end_s: float) -> Any:
    acks = done.trace.acks
    return acks[(acks["t_ns"] >= begin_s * 1e9) & (acks["t_ns"] < end_s * 1e9)]


def payload_of_a_packet(done: Finished, begin_s: float, end_s: float) -> float:
    acks = acks_between(done, begin_s, end_s)
    # In recovery, packets are delivered that are not acknowledged yet.
    acks = acks[acks["state"] == 0]
    return float(acks["acked_bytes"][-1] - acks["acked_bytes"][0]) / float(acks["delivered"][-1] - acks["delivered"][0])


def test_a_schedule_changes_rate_and_delay_in_place(finish: Runner) -> None:
    schedule = [
        {"at": "10 s", "path": {"bandwidth": "5 Mbit/s"}},
        {"at": "20 s", "path": {"rtt": "120 ms"}},
    ]
    done = finish(path=SMALL, flows=[{"name": "one", "cc": "cubic"}], duration="30 s", schedule=schedule)
    links = done.trace.links

    def rate_bps(begin_s: float, end_s: float) -> float:
        inside = links[(links["t_ns"] >= begin_s * 1e9) & (links["t_ns"] <= end_s * 1e9)]
        return float(inside["tx_bytes"][-1] - inside["tx_bytes"][0]) * 8 / (end_s - begin_s)

    assert rate_bps(4, 9.9) == pytest.approx(20e6, rel=0.01)
    assert rate_bps(11, 19.9) == pytest.approx(5e6, rel=0.01)
    acks = done.trace.acks
    late = acks["rtt_us"][acks["t_ns"] > 22e9]
    assert late.min() >= 119_900


def test_a_required_rate_is_followed_in_flight(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "622 Mbit/s", "rtt": "100 ms"},
        flows=[{"name": "app", "cc": "apptcp", "params": {"rate": "400 Mbit/s"}}],
        schedule=[{"at": "15 s", "flows": {"app": {"params": {"rate": "200 Mbit/s"}}}}],
        duration="30 s",
        window=["20 s", "30 s"],
    )
    assert goodput_bps(done, 10, 15) == pytest.approx(400e6, rel=0.02)
    assert goodput_bps(done, 20, 30) == pytest.approx(200e6, rel=0.02)
    # The error is relative to the required rate in the window, not at the start.
    assert done.document["flows"][0]["rate_error"] < 0.02
    (event,) = done.trace.events[done.trace.events["what"] == EVENT_FLOW_CHANGE]
    assert (event["id"], event["value"], event["t_ns"] // 1000) == (0, 0, 15_000_000)


def test_a_congestion_control_is_switched_in_flight(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "50 Mbit/s", "rtt": "80 ms"},
        flows=[{"name": "one", "cc": "cubic"}],
        schedule=[{"at": "10 s", "flows": {"one": {"cc": "reno"}}}],
        duration="60 s",
    )
    assert done.facts["flows"][0]["cc"] == "reno"
    acks = acks_between(done, 12, 60)
    # The longest stretch without a loss: there Reno adds one segment each round trip.
    falls = np.flatnonzero(np.diff(acks["ssthresh"].astype(np.int64)))
    edges = np.concatenate([[0], falls + 1, [len(acks)]])
    longest = int(np.diff(edges).argmax())
    stretch = acks[edges[longest] : edges[longest + 1]]
    stretch = stretch[(stretch["state"] == 0) & (stretch["cwnd"] >= stretch["ssthresh"]) & (stretch["rtt_us"] > 0)]
    round_trips = float((np.diff(stretch["t_ns"].astype(np.int64)) / 1000 / stretch["rtt_us"][1:]).sum())
    assert round_trips > 50
    assert float(stretch["cwnd"][-1] - stretch["cwnd"][0]) / round_trips == pytest.approx(1, rel=0.05)


def test_a_parameter_of_a_module_is_changed_in_flight(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "40 ms"},
        flows=[{"name": "one", "cc": "lhfixed", "params": {"cwnd": "10 packets"}, "count": 2}],
        schedule=[{"at": "5 s", "flows": {"one": {"params": {"cwnd": "50 packets"}}}}],
        duration="10 s",
    )
    assert set(acks_between(done, 1, 5)["cwnd"].tolist()) == {10}
    assert set(acks_between(done, 5.1, 10)["cwnd"].tolist()) == {50}


@pytest.mark.default_kernel
def test_the_mtu_falls_and_rises_again(finish: Runner) -> None:
    done = finish(
        path=SMALL | {"buffer": "3 BDP"},
        flows=[{"name": "one", "cc": "cubic"}, {"name": "calls", "udp": "1 Mbit/s"}],
        schedule=[{"at": "10 s", "path": {"mtu": 600}}, {"at": "20 s", "path": {"mtu": 1500}}],
        duration="30 s",
        warmup="2 s",
    )
    assert payload_of_a_packet(done, 2, 9) == pytest.approx(1448, rel=0.001)
    assert payload_of_a_packet(done, 12, 19) == pytest.approx(548, rel=0.001)
    assert payload_of_a_packet(done, 22, 29) == pytest.approx(1448, rel=0.001)
    # Headers take a larger share: 66 bytes of each frame.
    assert goodput_bps(done, 12, 19) == pytest.approx(19e6 * 548 / 614, rel=0.02)
    assert goodput_bps(done, 22, 29) == pytest.approx(19e6 * 1448 / 1514, rel=0.02)
    one, calls = done.document["flows"]
    assert one["throughput_bps"] + 1e6 == pytest.approx(20e6, rel=0.02)
    assert calls["pdr"] > 0.9
    assert {device["mtu"] for device in done.facts["devices"]} == {1500}
    assert set(done.trace.events["what"].tolist()) >= {EVENT_PATH_CHANGE}


@pytest.mark.parametrize("blackout", [{"loss": "100 %"}, {"reverse_loss": "100 %"}])
def test_a_flow_survives_a_blackout(finish: Runner, blackout: dict[str, str]) -> None:
    restored = dict.fromkeys(blackout, 0)
    done = finish(
        path=SMALL,
        flows=[{"name": "one", "cc": "cubic"}],
        schedule=[{"at": "10 s", "path": blackout}, {"at": "15 s", "path": restored}],
        duration="40 s",
    )
    assert len(acks_between(done, 10.2, 15)) == 0
    assert goodput_bps(done, 11, 15) < 1e5
    assert goodput_bps(done, 25, 40) == pytest.approx(20e6 * 1448 / 1514, rel=0.05)


@pytest.mark.default_kernel
@pytest.mark.parametrize("blackout", ["loss", "reverse_loss"])
def test_a_run_begins_in_a_blackout(finish: Runner, blackout: str) -> None:
    restored = {"at": "2 s", "path": {blackout: 0}}
    written = {"flows": [{"name": "one", "cc": "cubic"}], "duration": "20 s"}
    done = finish(path=SMALL | {blackout: "100 %"}, schedule=[restored], **written)
    # A SYN leaves each second, up to 32 ms late (a step of the kernel's timers); the third is answered, its data a round trip later.
    assert 2.08 <= done.trace.acks["t_ns"][0] / 1e9 < 2.15
    assert goodput_bps(done, 0, 2.08) == 0
    assert goodput_bps(done, 10, 20) == pytest.approx(20e6 * 1448 / 1514, rel=0.05)
    # A change at 0 s is the initial state of the path: the same numbers and the same packets.
    again = finish(path=SMALL, schedule=[{"at": "0 s", "path": {blackout: 1}}, restored], **written)
    assert again.document["trace_sha256"] == done.document["trace_sha256"]


def test_a_flow_in_a_blackout_has_no_goodput(finish: Runner) -> None:
    # The SYN of 7 s is the first to arrive, after the window.
    done = finish(
        path=SMALL | {"loss": "100 %"},
        schedule=[{"at": "6.9 s", "path": {"loss": 0}}],
        window=["0 s", "7 s"],
        duration="8 s",
    )
    assert done.document["flows"][0]["goodput_bps"] == 0
    assert goodput_bps(done, 7.1, 8) > 1e6


def test_a_flow_is_changed_before_it_starts_and_not_after_its_end(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "200 Mbit/s", "rtt": "40 ms"},
        flows=[
            {"name": "late", "cc": "cubic", "start": "5 s"},
            {"name": "short", "cc": "cubic", "size": "1 MB"},
        ],
        schedule=[
            {"at": "3 s", "flows": {"late": {"cc": "apptcp", "params": {"rate": "20 Mbit/s"}}, "short": {"cc": "reno"}}}
        ],
        duration="10 s",
    )
    assert [flow["cc"] for flow in done.facts["flows"]] == ["apptcp", "cubic"]
    assert goodput_bps(done, 7, 10) == pytest.approx(20e6, rel=0.02)
    assert done.trace.events["id"][done.trace.events["what"] == EVENT_FLOW_CHANGE].tolist() == [0]


def changeable(control: CongestionControl) -> dict[str, object]:
    """Each parameter that may change during a run, at its default or, if that is less, its lower bound."""
    return {
        one.name: one.show(max(one.default, one.low)) if one.unit != "number" else max(one.default, one.low)
        for one in control.parameters
        if not one.fixed
    }


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_every_control_can_be_switched_to_in_flight_with_its_parameters(finish: Runner, kernel: str) -> None:
    controls = [control for control in CONGESTION_CONTROLS.values() if not control.both_ends]
    schedule = [
        {"at": f"{1 + index} s", "flows": {"one": {"cc": control.name, "params": changeable(control)}}}
        for index, control in enumerate(controls)
    ]
    done = finish(path=SMALL, flows=[{"name": "one", "cc": "reno"}], schedule=schedule, duration="40 s", kernel=kernel)
    assert done.facts["flows"][0]["cc"] == controls[-1].name
    assert goodput_bps(done, 1, 40) > 1e6


def test_reruns_with_a_schedule_are_identical(pipeline: Pipeline) -> None:
    schedule = [
        {"at": "1 s", "path": {"mtu": 600, "rtt": "60 ms"}, "flows": {"pair": {"cc": "reno"}}},
        {
            "at": "2 s",
            "path": {"loss": "100 %"},
            "flows": {"app": {"params": {"rate": "2 Mbit/s", "ai_cnt": "20 packets"}}},
        },
        {"at": "2500 ms", "path": {"loss": 1e-3, "mtu": 1500}, "flows": {"pair-2": {"cc": "bbr"}}},
    ]
    flows = [
        {"name": "pair", "cc": "cubic", "count": 2},
        {"name": "app", "cc": "apptcp", "params": {"rate": "5 Mbit/s"}},
    ]
    plan = compile_plan(
        experiment(path=SMALL | {"loss": 1e-3, "jitter": "2 ms"}, flows=flows, schedule=schedule, duration="6 s")
    )
    fresh = Pipeline(pipeline.backend, pipeline.store, use_cache=False)
    documents = fresh.execute(replace(plan, runs=plan.runs * 6), jobs=2)
    assert all(document["status"] == "done" for document in documents), documents
    assert len({document["trace_sha256"] for document in documents}) == 1
