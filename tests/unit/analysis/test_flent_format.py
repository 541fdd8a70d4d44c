"""flent's data file: names as in flent's own definitions, values that are known, and the same bytes for the same run."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.formats.exported_run import ExportedRun
from longhaul.orchestrator.analysis.formats.flent.data_file import flent_files
from longhaul.orchestrator.analysis.formats.flent.flent_test import flent_test
from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_REQUEST_LOST, EVENT_STOPPED, Trace
from tests.support.recordings import plain_run, steady, trace_of
from tests.support.tools.flent import DELAY_S, LENGTH_S, data_sets

KEPT_AT = datetime(2026, 3, 1, 12, 30, 15, 250_000, tzinfo=UTC)
# Differentiated services code points of the words in flent's definitions (RFC 2474, 3246).
CODE_POINTS = {"CS0": 0, "CS1": 8, "CS5": 40, "EF": 46}
DOWN = {"sender": "b1", "receiver": "a1"}


def data_file(run: Run, trace: Trace, completed_us: int | None = None) -> dict[str, Any]:
    flows = [
        {"id": flow.id, "connected_us": 0, "completed_us": completed_us if flow.bytes else None, "bytes_received": 0}
        for flow in run.flows
    ]
    document = {"run": "0123456789abcdef0123", "kernel": "6.12.1", **summarise(run, trace, {"flows": flows})}
    exported = ExportedRun(run, document, trace.columns, KEPT_AT)  # type: ignore[arg-type]
    ((name, content),) = flent_files(exported)
    assert [(name, content)] == list(flent_files(exported))
    found: dict[str, Any] = json.loads(gzip.decompress(content))
    assert name == f"{found['metadata']['NAME']}-{document['run']}.flent.gz"
    assert {len(values) for values in found["results"].values()} == {len(found["x_values"])}
    assert {*found["metadata"]["SERIES_META"]} >= {*found["raw_values"]}
    return found


def flow(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "cc": "cubic", **more}


@pytest.mark.parametrize("name", ["rrul", "rrul_be", "tcp_nup", "tcp_ndown", "rtt_fair"])
def test_a_shipped_experiment_is_the_test_of_its_name(name: str) -> None:
    (run,) = compile_plan(load_experiment(f"flent/{name}")).runs
    test = flent_test(run)
    assert test.name == name
    defined = data_sets(name, test.hosts, test.parameters)
    assert {*test.transfers, *test.pings, *(one for one, _, _ in test.computed)} == {*defined}
    for series, (its,) in test.pings.items():
        # flent runs for all of the time, and asks as often as its steps are; it marks pings of UDP alone.
        assert its.start_us < 10**6 and its.stop_us in (None, run.duration_us)
        assert its.requests is not None and its.requests.every_us == 200_000
        assert its.options.dscp == CODE_POINTS[defined[series].get("marking", "CS0").partition(",")[0]], series
        assert (its.from_node, its.to_node) == (defined[series]["host"], "a1")
    for series, its in test.transfers.items():
        marks = defined[series]["marking"].partition(",")[0]
        assert its.options.dscp == CODE_POINTS[marks], series
        client, host = sorted([its.from_node, its.to_node])
        assert host == defined[series]["host"]
        assert (its.from_node == client) == (defined[series]["test"] == "TCP_STREAM"), series
        assert DELAY_S <= its.start_us / 1e6 < DELAY_S + 1
        assert its.stop_us == (DELAY_S + LENGTH_S) * 10**6
    assert run.duration_us == (LENGTH_S + 2 * DELAY_S) * 10**6
    assert run.window_us == (DELAY_S * 10**6, (DELAY_S + LENGTH_S) * 10**6)


def test_steps_have_the_goodput_the_sum_the_mean_and_fairness() -> None:
    found = data_file(plain_run(), trace_of(flow=steady(0, 600_000) + steady(1, 200_000)))
    results, about = found["results"], found["metadata"]["SERIES_META"]
    assert found["x_values"] == [round(0.2 * step, 6) for step in range(1, 51)]
    assert results["TCP upload::1"] == pytest.approx([4.8] * 50)
    assert results["TCP upload sum"] == pytest.approx([6.4] * 50)
    assert results["TCP upload avg"] == pytest.approx([3.2] * 50)
    # (3 + 1)^2 / (2 (9 + 1))
    assert results["TCP upload fairness"] == pytest.approx([0.8] * 50)
    means = {name: one["MEAN_VALUE"] for name, one in about.items()}
    assert (means["TCP upload::1"], means["TCP upload sum"]) == (pytest.approx(4.8), pytest.approx(6.4))
    assert [about[f"TCP upload::{number}"]["CONG_CONTROL"] for number in (1, 2)] == ["cubic", "reno"]
    assert about["TCP upload sum"]["UNITS"] == "Mbits/s"


def test_times_are_of_the_instant_at_which_the_run_was_kept() -> None:
    found = data_file(plain_run(), trace_of(flow=steady(0, 600_000)))
    assert found["metadata"]["TIME"] == found["metadata"]["T0"] == "2026-03-01T12:30:15.250000Z"
    first = found["raw_values"]["TCP upload::1"][0]
    assert first == {"t": KEPT_AT.timestamp() + 0.2, "val": pytest.approx(4.8), "dur": 0.2}


def test_sockets_have_the_state_that_the_last_ack_of_a_step_found() -> None:
    acks = [
        {"t_ns": 150_000_000, "id": 0, "cwnd": 10, "srtt_us": 40_000, "rtt_us": 40_000, "pacing_Bps": 125_000},
        {"t_ns": 190_000_000, "id": 0, "cwnd": 20, "srtt_us": 50_000, "rtt_us": 60_000, "pacing_Bps": 2**64 - 1},
        {"t_ns": 900_000_000, "id": 0, "cwnd": 30, "srtt_us": 55_000, "rtt_us": 90_000, "pacing_Bps": 2**64 - 1},
    ]
    found = data_file(plain_run(), trace_of(ack=acks, flow=steady(0, 600_000)))
    results = found["results"]
    assert results["TCP upload::1::tcp_cwnd"][:6] == [20, 20, 20, 20, 30, 30]
    assert results["TCP upload::1::tcp_rtt"][:6] == [50, 50, 50, 50, 55, 55]
    assert "TCP upload::1::tcp_pacing_rate" not in results
    assert "TCP upload::2::tcp_cwnd" not in results
    assert found["raw_values"]["TCP upload::1"][0]["tcp_rtt"] == 50
    # A ping is the mean of the round trips in a step.
    assert results["Ping (ms) ICMP"][:5] == [50, None, None, None, 90]
    assert found["metadata"]["SERIES_META"]["Ping (ms) ICMP"]["MEAN_VALUE"] == pytest.approx((40 + 60 + 90) / 3)
    assert [one["val"] for one in found["raw_values"]["Ping (ms) ICMP"]] == [50, 90]


def request(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "requests": {"request": "64 B", "response": "64 B", "every": "200 ms"}, **more}


@pytest.mark.parametrize("over", ["tcp", "udp"])
def test_a_ping_has_the_times_of_its_requests(over: str) -> None:
    ping = {"requests": {"request": "64 B", "response": "64 B", "every": "200 ms", "over": over}}
    run = plain_run(flows=[flow("one"), {"name": "ping-icmp", **ping, **DOWN}, request("pages", **DOWN)])
    events = [
        {"t_ns": 141_000_000, "id": 1, "what": EVENT_REQUEST, "value": 41_000_000},
        {"t_ns": 150_000_000, "id": 2, "what": EVENT_REQUEST, "value": 99_000_000},
        {"t_ns": 199_000_000, "id": 1, "what": EVENT_REQUEST, "value": 43_000_000},
        {"t_ns": 450_000_000, "id": 1, "what": EVENT_REQUEST, "value": 50_000_000},
        {"t_ns": 460_000_000, "id": 1, "what": EVENT_STOPPED, "value": 1},
        {"t_ns": 990_000_000, "id": 1, "what": EVENT_REQUEST_LOST, "value": 1},
    ]
    acks = [{"t_ns": 100_000_000, "id": 0, "rtt_us": 70_000, "srtt_us": 70_000}]
    found = data_file(run, trace_of(event=events, ack=acks))
    assert [one for one in found["results"] if one.startswith("Ping")] == ["Ping (ms) ICMP"]
    assert found["results"]["Ping (ms) ICMP"][:4] == [42, None, 50, None]
    zero_s = KEPT_AT.timestamp()
    assert found["raw_values"]["Ping (ms) ICMP"] == [
        {"t": zero_s + t_s, "val": value} for t_s, value in ((0.141, 41), (0.199, 43), (0.45, 50))
    ]
    assert found["metadata"]["SERIES_META"]["Ping (ms) ICMP"]["MEAN_VALUE"] == pytest.approx(134 / 3)


@pytest.mark.parametrize(
    ("flows", "pings"),
    [
        (["ping"], {"Ping (ms) ICMP": "ping"}),
        (["ping-udp-be", "ping-far"], {"Ping (ms) ICMP": "ping-udp-be", "Ping (ms) ICMP ping-far (extra)": "ping-far"}),
        (["ping-far", "ping-icmp"], {"Ping (ms) ICMP": "ping-icmp", "Ping (ms) ICMP ping-far (extra)": "ping-far"}),
    ],
)
def test_further_pings_are_those_of_further_hosts(flows: list[str], pings: dict[str, str]) -> None:
    run = plain_run(flows=[flow("one"), *(request(name, **DOWN) for name in flows)])
    test = flent_test(run)
    assert {series: its.name for series, (its,) in test.pings.items()} == pings
    assert {*pings} <= {*data_sets(test.name, test.hosts, test.parameters)}


def test_a_flow_has_no_value_before_it_starts_and_after_it_ends() -> None:
    run = plain_run(flows=[flow("late", start="1 s", stop="2 s"), flow("sized", size="1 MB")])
    trace = trace_of(flow=steady(0, 600_000, 1, 2) + steady(1, 500_000, 0, 2))
    found = data_file(run, trace, completed_us=2_000_000)
    late, sized = (np.array(found["results"][f"TCP upload::{number}"], float) for number in (1, 2))
    assert np.flatnonzero(np.isfinite(late)).tolist() == [5, 6, 7, 8, 9]
    assert np.flatnonzero(np.isfinite(sized)).tolist() == list(range(10))
    assert found["metadata"]["SERIES_META"]["TCP upload::2"]["MEAN_VALUE"] == pytest.approx(4.0, rel=0.01)
    assert found["results"]["TCP upload sum"][10:] == [None] * 40
    assert found["metadata"]["LENGTH"] == 2


@pytest.mark.parametrize(
    ("flows", "test", "names"),
    [
        ([flow("one")], "tcp_nup", ["TCP upload::1"]),
        ([flow("one", **DOWN)], "tcp_ndown", ["TCP download::1"]),
        (
            [flow("one", **DOWN), flow("two", count=2), flow("three", **DOWN)],
            "rrul_be_nflows",
            ["TCP upload BE::1", "TCP upload BE::2", "TCP download BE::1", "TCP download BE::2"],
        ),
        (
            [flow("upload-be"), flow("download-be", **DOWN)],
            "rrul_be_nflows",
            ["TCP upload BE::1", "TCP download BE::1"],
        ),
        ([{"name": "voice", "udp": "1 Mbit/s"}], "tcp_nup", []),
        ([{"name": "users", "web": {}}, flow("one")], "tcp_nup", ["TCP upload::1"]),
    ],
)
def test_other_flows_are_of_a_test_that_has_any_number(flows: list[Any], test: str, names: list[str]) -> None:
    run = plain_run(flows=flows)
    found = data_file(run, trace_of())
    assert (found["metadata"]["NAME"], [one for one in found["raw_values"] if one.startswith("TCP")]) == (test, names)
    defined = data_sets(test, found["metadata"]["HOSTS"], found["metadata"]["TEST_PARAMETERS"])
    of_tests = {one for one in found["results"] if not one.startswith("Ping")}
    assert of_tests == {one for one in defined if not one.startswith("Ping")}


def test_a_run_shorter_than_a_step_has_one_step() -> None:
    found = data_file(plain_run(duration="100 ms"), trace_of(flow=steady(0, 600_000, 0, 0.1)))
    assert found["x_values"] == [0.1]
    assert found["results"]["TCP upload::1"] == [pytest.approx(4.8)]
    assert found["metadata"]["STEP_SIZE"] == 0.1


def test_a_long_run_of_many_flows_has_longer_steps() -> None:
    found = data_file(plain_run(flows=[flow("one", count=200)], duration="400 s"), trace_of())
    assert found["metadata"]["STEP_SIZE"] == 0.4
    assert len(found["x_values"]) == 1000


def test_metadata_name_the_run_and_its_path() -> None:
    metadata = data_file(plain_run(), trace_of())["metadata"]
    assert metadata["NOTE"].startswith(
        "exported from run 0123456789abcdef0123 of Longhaul; its times are of virtual time"
    )
    assert metadata["DATA_FILENAME"] == "tcp_nup-made-01.flent.gz"
    (link,) = metadata["LONGHAUL"]["LINKS"]
    assert (link["RATE_BPS"], link["ONE_WAY_US"], metadata["LONGHAUL"]["RTT_US"]) == (8_000_000, 20_000, 40_000)
    assert (metadata["LOCAL_HOST"], metadata["HOST"]) == ("a1", "b1")
