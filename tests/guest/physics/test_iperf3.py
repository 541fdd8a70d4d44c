"""iperf3 as the tool of a flow: its flows behave like those of lh-flow, and its own reports agree with the run."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.backends.guest_iperf3 import MISSING
from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.system.errors import BackendUnavailable
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.trace.records import EVENT_STOPPED
from tests.guest.physics.test_determinism import RERUNS, traces
from tests.support.guests import Finished, Runner, experiment
from tests.support.tested_kernels import TESTED_KERNELS

TOOLS = ("lh-flow", "iperf3")
# iperf3 opens a control connection, sends parameters and opens the data connection before its server lets it begin.
ROUND_TRIPS_AHEAD = 4


def iperf3(name: str = "one", **more: Any) -> dict[str, Any]:
    return {"name": name, "cc": "cubic", "tool": "iperf3", **more}


def pair(finish: Runner, **changes: Any) -> dict[str, Finished]:
    """The same flow with each tool."""
    flow = changes.pop("flow", {})
    return {tool: finish(flows=[iperf3() | flow | {"tool": tool}], **changes) for tool in TOOLS}


@pytest.mark.parametrize("bandwidth", ["20 Mbit/s", "100 Mbit/s", "622 Mbit/s", "1 Gbit/s"])
def test_goodput_is_that_of_lh_flow(finish: Runner, bandwidth: str) -> None:
    runs = pair(finish, path={"bandwidth": bandwidth}, duration="10 s", warmup="2 s")
    goodput = {tool: run.document["flows"][0]["goodput_bps"] for tool, run in runs.items()}
    assert goodput["iperf3"] == pytest.approx(goodput["lh-flow"], rel=0.01)
    assert goodput["iperf3"] > 0.9 * runs["iperf3"].run.meaning.bandwidth_bps


@pytest.mark.parametrize("cc", ["reno", "bbr", "htcp", "vegas"])
def test_other_controls_fill_the_path_alike(finish: Runner, cc: str) -> None:
    runs = pair(finish, flow={"cc": cc}, duration="20 s", warmup="5 s")
    goodput = {tool: run.document["flows"][0]["goodput_bps"] for tool, run in runs.items()}
    assert goodput["iperf3"] == pytest.approx(goodput["lh-flow"], rel=0.01)


@pytest.mark.parametrize(("size", "bytes_"), [("500 KB", 500_000), ("20 MB", 20_000_000), ("1.2345 MB", 1_234_500)])
def test_a_size_arrives_to_the_byte(finish: Runner, size: str, bytes_: int) -> None:
    runs = pair(finish, flow={"size": size}, duration="10 s")
    took_s = {tool: run.document["flows"][0]["completion_s"] for tool, run in runs.items()}
    ahead_s = ROUND_TRIPS_AHEAD * runs["iperf3"].run.meaning.rtt_us / 1e6
    assert took_s["iperf3"] - ahead_s == pytest.approx(took_s["lh-flow"], rel=0.01)
    for run in runs.values():
        (fact,) = run.facts["flows"]
        assert fact["bytes_sent"] == fact["bytes_received"] == run.document["flows"][0]["bytes"] == bytes_
    assert runs["iperf3"].facts["flows"][0]["iperf3"]["bytes_sent"] == bytes_


def test_a_size_arrives_over_a_path_that_loses(finish: Runner) -> None:
    flows = [iperf3("file", size="3 MB")]
    done = finish(flows=flows, path={"loss": 0.01, "reverse_loss": 0.01}, duration="60 s")
    assert done.document["flows"][0]["bytes"] == 3_000_000
    assert done.document["flows"][0]["completion_s"] is not None


def test_two_iperf3_flows_share_with_another_flow(finish: Runner) -> None:
    flows = [iperf3("a"), iperf3("b", start="1 s"), {"name": "c", "cc": "cubic"}]
    done = finish(flows=flows, duration="20 s", warmup="5 s")
    assert done.document["path"]["utilisation"] > 0.98
    assert done.document["jain"] > 0.75
    assert [set(fact) & {"iperf3"} for fact in done.facts["flows"]] == [{"iperf3"}, {"iperf3"}, set()]


def test_iperf3_stops_in_mid_second(finish: Runner) -> None:
    done = finish(flows=[iperf3(stop="3.4567 s")], duration="5 s")
    (stopped,) = done.trace.events[done.trace.events["what"] == EVENT_STOPPED]
    assert int(stopped["t_ns"]) == pytest.approx(3_456_700_000, abs=50_000)
    received = of_flow(done.trace.flows, 0)
    # The last data arrives half a round trip and the queueing delay later.
    assert received["t_ns"][-1] < (3_456_700 + 20_000 + 40_000 + 2 * done.run.trace.tick_us) * 1000
    (fact,) = done.facts["flows"]
    assert fact["bytes_received"] == fact["iperf3"]["bytes_received"]
    assert fact["completed_us"] is None


def test_a_schedule_changes_the_connection_of_iperf3(finish: Runner) -> None:
    changes = [
        {"at": "0.1 s", "flows": {"a": {"cc": "reno"}}},
        {"at": "2 s", "flows": {"a": {"cc": "bbr"}, "b": {"cc": "htcp"}}},
        {"at": "4 s", "flows": {"b": {"cc": "vegas"}}},
    ]
    done = finish(flows=[iperf3("a"), iperf3("b", start="3 s")], schedule=changes, duration="6 s")
    first, second = done.facts["flows"]
    assert (first["cc"], second["cc"]) == ("bbr", "vegas")
    # iperf3 reads the control when it connects; the first change of a falls between its start and that moment.
    assert first["iperf3"]["sender_cc"] in ("cubic", "reno")
    assert second["iperf3"]["sender_cc"] == "htcp"


def test_a_required_rate_is_kept_and_changed(finish: Runner) -> None:
    flow = iperf3(cc="apptcp", params={"rate": "20 Mbit/s"})
    change = {"at": "5 s", "flows": {"one": {"params": {"rate": "40 Mbit/s"}}}}
    done = finish(flows=[flow], schedule=[change], duration="10 s", warmup="1 s")
    assert done.document["flows"][0]["rate_error"] < 0.03


def test_the_reports_of_iperf3_agree_with_the_facts(finish: Runner, pipeline: Pipeline) -> None:
    done = finish(flows=[iperf3()], duration="5 s", path={"loss": 1e-4})
    (facts,) = [fact["iperf3"] for fact in done.facts["flows"]]
    folder = pipeline.store.directory(done.document["run"]) / "iperf3"
    client, server = (json.loads((folder / f"one.{side}.json").read_text()) for side in ("client", "server"))
    assert client["end"]["sum_sent"]["bytes"] == facts["bytes_sent"] > 10_000_000
    assert client["end"]["sum_sent"]["retransmits"] == facts["retransmits"] == done.facts["flows"][0]["retransmits"] > 0
    assert server["end"]["sum_received"]["bytes"] == facts["bytes_received"]
    assert (facts["sender_cc"], facts["receiver_cc"]) == ("cubic", "cubic")
    assert client["start"]["connected"][0]["local_port"] == done.run.flows[0].client_port
    assert {"iperf3", "bin/iperf3", "lib/libc.so.6"} <= set(done.document["identity"])
    # The reports are small.
    assert sum(file.stat().st_size for file in folder.iterdir()) < 10_000


def test_the_whole_connection_is_in_the_trace(finish: Runner) -> None:
    """The trace has the cookie and every byte of data, and nothing of the control connection."""
    done = finish(flows=[iperf3()], duration="5 s")
    (fact,) = done.facts["flows"]
    acks, received = of_flow(done.trace.acks, 0), of_flow(done.trace.flows, 0)
    assert int(acks["t_ns"][0]) / 1000 < fact["connected_us"] + 2.1 * done.run.meaning.rtt_us
    assert acks["acked_bytes"][0] <= 38
    assert (np.diff(received["app_bytes"].astype(np.int64)) >= 0).all()
    assert int(received["app_bytes"][-1]) == pytest.approx(fact["bytes_received"], abs=200_000)


@pytest.mark.parametrize("kernel", TESTED_KERNELS[1:])
def test_iperf3_runs_on_the_other_kernels(finish: Runner, kernel: str) -> None:
    assert finish(flows=[iperf3()], duration="2 s", kernel=kernel).document["flows"][0]["goodput_bps"] > 50e6


def test_reruns_are_identical(pipeline: Pipeline) -> None:
    flows = [iperf3("pair", count=2), iperf3("file", size="1 MB", start="500 ms"), {"name": "old", "cc": "reno"}]
    path = {"bandwidth": "20 Mbit/s", "rtt": "30 ms", "loss": 1e-3, "jitter": "2 ms"}
    plan = compile_plan(experiment(path=path, flows=flows, duration="2 s", start_jitter="1 RTT"))
    assert len(traces(pipeline, plan, RERUNS)) == 1


def test_a_machine_without_iperf3_gets_the_command_to_install_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (run,) = compile_plan(experiment(flows=[iperf3()])).runs
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    backend = Sandbox(settings)
    assert MISSING in backend.check(run)
    with pytest.raises(BackendUnavailable, match="apt-get install iperf3"):
        backend.identity(run)
    (without,) = compile_plan(experiment()).runs
    assert MISSING not in backend.check(without)


@pytest.mark.parametrize(
    ("path", "count"), [({"rtt": "100 us", "buffer": "100 packets"}, 1), ({}, 25)], ids=["a short path", "a crowd"]
)
def test_no_flow_waits_for_ever(finish: Runner, path: dict[str, Any], count: int) -> None:
    """A late read of the server or a late message of the client must not block either of them."""
    done = finish(flows=[iperf3(count=count)], path=path, duration="3 s", start_jitter="1 RTT")
    assert all(fact["iperf3"]["bytes_received"] > 100_000 for fact in done.facts["flows"])
    assert done.document["path"]["utilisation"] > 0.8
