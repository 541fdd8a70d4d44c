"""Measures against traces whose answer is known in closed form."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.aggregate import summarise_repeats, trimmed_mean, with_interval
from longhaul.orchestrator.analysis.expect import evaluate
from longhaul.orchestrator.analysis.fairness import convergence_s, jain, jain_index, recovery_ratio
from longhaul.orchestrator.analysis.fidelity.checks import check_fidelity
from longhaul.orchestrator.analysis.measures import percentiles, summarise
from longhaul.orchestrator.analysis.values import value_of
from longhaul.orchestrator.plan.run import Expectation, Run
from longhaul.orchestrator.spec.amounts import say_amount
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_REQUEST_LOST, EVENT_ROUND, Records
from tests.support.recordings import failed_checks, plain_run, recorded, steady, trace_of


def facts(run: Run, **flow_changes: Any) -> dict[str, Any]:
    one = {"connected_us": 0, "completed_us": None, "bytes_received": 0} | flow_changes
    return {"flows": [{"id": flow.id, **one} for flow in run.flows]}


def test_percentiles_are_those_of_numpy_to_the_last_bit() -> None:
    draw = np.random.default_rng(25)
    for size in [*range(1, 60), 1000, 4097]:
        for values in (
            draw.integers(0, 2**32, size, dtype=np.uint32),
            draw.integers(0, 2**50, size, dtype=np.uint64),
            draw.random(size) * 10.0 ** draw.integers(-5, 9),
            draw.integers(0, 3, size).astype(np.float64),
        ):
            for percents in ((50, 95, 99), (0, 100), tuple(draw.random(4) * 100)):
                assert percentiles(values, percents).tobytes() == np.percentile(values, percents).tobytes()


def test_goodput_share_and_jain_of_a_three_to_one_split() -> None:
    run = plain_run()
    document = summarise(run, trace_of(flow=steady(0, 600_000) + steady(1, 200_000)), facts(run))
    a, b = document["flows"]
    assert a["goodput_bps"] == pytest.approx(4.8e6, rel=1e-3)
    assert b["share"] == pytest.approx(0.25, rel=1e-3)
    # (3 + 1)^2 / (2 (9 + 1))
    assert document["jain"] == pytest.approx(0.8, rel=1e-3)
    assert a["goodput_cv"] == pytest.approx(0, abs=1e-3)


def test_goodput_counts_only_the_window() -> None:
    run = plain_run(window=["5 s", "10 s"])
    document = summarise(run, trace_of(flow=steady(0, 400_000, 0, 5)), facts(run))
    assert document["flows"][0]["goodput_bps"] == 0


@pytest.mark.parametrize(
    ("values", "index"), [([1, 1, 1], 1.0), ([1, 0], 0.5), ([4, 0, 0, 0], 0.25), ([0, 0], 1.0), ([5], 1.0)]
)
def test_jain(values: list[float], index: float) -> None:
    assert jain(np.array(values, float)) == pytest.approx(index)


def test_jain_covers_only_the_time_with_all_flows() -> None:
    run = plain_run(flows=[{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "reno", "start": "5 s"}])
    trace = trace_of(
        flow=[
            *steady(0, 800_000, 0, 5),
            {"t_ns": 10**10, "id": 0, "app_bytes": 4_000_000 + 2_000_000},
            *steady(1, 400_000, 5, 10),
        ]
    )
    assert jain_index(run, trace, 0, 10) == pytest.approx(1.0, abs=1e-3)


def test_convergence_is_the_first_fair_stretch() -> None:
    run = plain_run()
    late = steady(1, 0, 0, 4) + steady(1, 400_000, 4, 10)
    assert convergence_s(run, trace_of(flow=steady(0, 400_000) + late)) == pytest.approx(4, abs=0.1)
    assert convergence_s(run, trace_of(flow=steady(0, 400_000) + steady(1, 100_000))) is None


def test_convergence_waits_for_ten_round_trips_with_their_queue() -> None:
    """The flows take turns of 0.4 s: over 4 s that is fair at once, over 10 bare round trips of 40 ms from the middle of a turn."""
    run = plain_run()
    flows = turns(0) + turns(1)
    queued = [{"t_ns": tick * 10**8, "id": flow, "srtt_us": 400_000} for flow in (0, 1) for tick in range(100)]
    assert convergence_s(run, trace_of(flow=flows)) == pytest.approx(0.2, abs=0.03)
    assert convergence_s(run, trace_of(flow=flows, ack=queued)) == 0


def turns(flow: int) -> list[dict[str, int]]:
    """FLOW records every 10 ms of a receiver that gets data only in every other 0.4 s."""
    gained, rows = 0, []
    for tick in range(1001):
        rows.append({"t_ns": tick * 10_000_000, "id": flow, "app_bytes": gained})
        gained += 8000 if tick // 40 % 2 == flow else 0
    return rows


def test_recovery_is_after_over_before() -> None:
    run = plain_run(
        flows=[{"name": "a", "cc": "cubic"}, {"name": "guest", "udp": "4 Mbit/s", "start": "4 s", "stop": "6 s"}]
    )
    before = steady(0, 800_000, 0, 4)
    trace = trace_of(
        flow=[
            *before,
            {"t_ns": 6 * 10**9, "id": 0, "app_bytes": 4_000_000},
            {"t_ns": 10**10, "id": 0, "app_bytes": 5_600_000},
        ]
    )
    ratio = recovery_ratio(run, trace, 0, 10)
    assert ratio is not None
    # Between two records a counter holds its value, so the whole rise comes at the end.
    assert ratio == pytest.approx(0.5, rel=0.01)


def test_the_time_weighted_window_and_the_percentiles_of_the_round_trip() -> None:
    run = plain_run()
    acks = [
        {"t_ns": 0, "cwnd": 10, "rtt_us": 40_000},
        {"t_ns": 3 * 10**9, "cwnd": 20, "rtt_us": 60_000},
        {"t_ns": 4 * 10**9, "cwnd": 99, "rtt_us": 80_000},
    ]
    flow = summarise(run, trace_of(ack=acks), facts(run))["flows"][0]
    assert flow["cwnd_packets"] == {"mean": pytest.approx((10 * 3 + 20 * 1) / 4), "max": 99}
    assert flow["rtt_ms"] is not None
    assert (flow["rtt_ms"]["min"], flow["rtt_ms"]["p50"], flow["rtt_ms"]["mean"]) == (40.0, 60.0, 60.0)


def test_a_sender_without_sack_has_smoothed_round_trips() -> None:
    """Linux keeps single measurements only for RACK, and RACK needs SACK."""
    run = plain_run()
    acks = [{"t_ns": 0, "srtt_us": 0}, {"t_ns": 10**9, "srtt_us": 40_000}, {"t_ns": 2 * 10**9, "srtt_us": 50_000}]
    flow = summarise(run, trace_of(ack=acks), facts(run))["flows"][0]
    assert flow["rtt_ms"] is not None
    assert (flow["rtt_ms"]["min"], flow["rtt_ms"]["mean"]) == (40.0, 45.0)


def test_a_phase_is_measured_like_the_window() -> None:
    run = plain_run(phases={"early": ["0 s", "4 s"], "late": ["4 s", "10 s"]}, flows=[{"name": "a", "cc": "cubic"}])
    late = {"t_ns": 10**10, "id": 0, "app_bytes": 1_600_000 + 6 * 800_000}
    steps = [*steady(0, 400_000, 0, 4), late]
    document: Any = summarise(run, trace_of(flow=steps), facts(run))
    assert value_of(document, "goodput", "a", "early") == pytest.approx(8 * 400_000, rel=0.01)
    assert value_of(document, "goodput", "a", "late") == pytest.approx(8 * 800_000, rel=0.01)
    assert value_of(document, "goodput", "a") == pytest.approx(8 * 640_000, rel=0.01)
    rows = summarise_repeats([document | {"point": {}}], "mean")
    assert {row.get("phase") for row in rows if row["measure"] == "goodput_bps"} == {None, "early", "late"}
    assert {row.get("phase") for row in rows if row["measure"] == "completion_s"} <= {None}


def test_the_share_of_a_window_after_a_loss_and_the_time_of_its_peak() -> None:
    run = plain_run(flows=[{"name": "a", "cc": "cubic", "start": "1 s"}], start_jitter="0 s")
    # An ACK every 100 ms; they begin and end inside a recovery; neither of the two counts.
    windows = [9, 10, 40, 90, 100, 50, 50, 60, 80, 20, 20, 30, 10]
    states = [3, 0, 0, 0, 1, 3, 0, 0, 0, 2, 0, 0, 3]
    acks = [
        {"t_ns": 10**9 + step * 10**8, "cwnd": window, "state": state}
        for step, (window, state) in enumerate(zip(windows, states, strict=True))
    ]
    flow = summarise(run, trace_of(ack=acks), facts(run))["flows"][0]
    assert flow["backoff"] == pytest.approx((50 / 100 + 20 / 80) / 2)
    assert flow["cwnd_peak_s"] == pytest.approx(0.4)
    # Neither of these two comes back to 100 or to 80.
    assert flow["regrowth_s"] is None
    acks[8]["cwnd"], acks[11]["cwnd"] = 100, 99
    (flow,) = summarise(run, trace_of(ack=acks), facts(run))["flows"]
    # The first is back at 100 after 200 ms; the second, again 100 before, reaches only 99.
    assert flow["regrowth_s"] == pytest.approx(0.2)
    coarse = plain_run(flows=[{"name": "a", "cc": "cubic", "start": "1 s"}], sample="41 ms")
    (flow,) = summarise(coarse, trace_of(ack=acks), facts(coarse))["flows"]
    assert (flow["backoff"], flow["regrowth_s"]) == (None, None)
    lossless = summarise(run, trace_of(ack=acks[1:4]), facts(run))["flows"][0]
    assert lossless["backoff"] is None
    assert lossless["cwnd_peak_s"] == pytest.approx(0.3)


def test_queue_and_utilisation_come_from_the_integral_and_the_counter() -> None:
    run = plain_run()
    links = [
        {"t_ns": 0},
        {
            "t_ns": 10**10,
            "tx_bytes": 5_000_000,
            "queue_byte_ns": 15_140 * 10**10,
            "queue_max_packets": 17,
            "queue_packets": 3,
        },
    ]
    path = summarise(run, trace_of(link=links), facts(run))["path"]
    assert path["utilisation"] == pytest.approx(0.5)
    assert path["queue_packets"]["mean"] == pytest.approx(10)
    assert path["queue_packets"]["max"] == 17
    assert path["queue_delay_ms"] == pytest.approx(15_140 * 8 / 8e6 * 1000)


def test_capacity_follows_the_schedule() -> None:
    run = plain_run(schedule=[{"at": "5 s", "path": {"bandwidth": "4 Mbit/s"}}])
    links = [{"t_ns": 0}, {"t_ns": 10**10, "tx_bytes": 7_500_000}]
    path = summarise(run, trace_of(link=links), facts(run))["path"]
    assert path["utilisation"] == pytest.approx(7.5e6 * 8 / (5 * 8e6 + 5 * 4e6))


def test_a_completion_time_needs_a_size() -> None:
    run = plain_run(flows=[{"name": "a", "cc": "cubic", "size": "1 MB", "start": "1 s"}])
    flow = summarise(run, trace_of(), facts(run, completed_us=3_500_000))["flows"][0]
    assert flow["completion_s"] == pytest.approx(2.5)


def test_completion_times_are_those_of_all_sized_flows_or_none() -> None:
    sizes = [{"name": f"f{n}", "cc": "cubic", "size": "1 MB", "start": f"{n} s"} for n in range(5)]
    run = plain_run(flows=[*sizes, {"name": "long", "cc": "cubic"}])
    found = facts(run)
    for fact in found["flows"]:
        # 1 s, 2 s, ... 5 s after their starts.
        fact["completed_us"] = (2 * fact["id"] + 1) * 10**6
    document: Any = summarise(run, trace_of(), found)
    measured = [document[f"fct_{name}"] for name in ("mean", "p50", "p95", "p99", "max")]
    assert measured == pytest.approx([3.0, 3.0, 4.8, 4.96, 5.0])
    found["flows"][4]["completed_us"] = None
    assert summarise(run, trace_of(), found)["fct_p50"] is None
    assert summarise(run, trace_of(), found)["fct_max"] is None
    assert summarise(plain_run(), trace_of(), facts(plain_run()))["fct_mean"] is None


def test_the_total_counts_the_bytes_of_all_flows_however_long_each_was_active() -> None:
    """1 MB/s for 10 s and 0.5 MB/s for the last 4 s: 12 MB in 10 s."""
    run = plain_run(flows=[{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "reno", "start": "6 s"}])
    trace = trace_of(flow=[*steady(0, 1_000_000), *steady(1, 500_000, 6.0)])
    document = summarise(run, trace, facts(run))
    assert [flow["goodput_bps"] for flow in document["flows"]] == pytest.approx([8e6, 4e6])
    assert document["goodput_total"] == pytest.approx(9.6e6)
    assert value_of(document, "goodput_total", None) == document["goodput_total"]


def test_queue_delay_percentiles_are_over_time_and_at_the_rate_of_the_time() -> None:
    """9000 bytes wait for the first half at 8 Mbit/s, then at 4: 9 ms, then 18 ms; a percent of the time 40 ms."""
    run = plain_run(schedule=[{"at": "5 s", "path": {"bandwidth": "4 Mbit/s"}}])
    links = [
        {"t_ns": 0, "queue_bytes": 9000},
        {"t_ns": 99 * 10**8, "queue_bytes": 20_000},
    ]
    delays = summarise(run, trace_of(link=links), facts(run))["path"]["queue_delay_percentiles_ms"]
    assert delays is not None
    assert delays["p50"] == pytest.approx(18.0)
    assert delays["p95"] == pytest.approx(18.0)
    assert delays["p99"] == pytest.approx(40.0)


def test_a_run_kept_before_a_measure_existed_has_no_value_of_it() -> None:
    (document, _) = documents()
    del document["path"]["queue_delay_percentiles_ms"], document["fct_mean"]
    assert value_of(document, "queue_delay_p95", None) is None
    assert value_of(document, "fct_mean", None) is None
    assert not [row for row in summarise_repeats([document], "mean") if "percentiles" in row["measure"]]


def test_every_measure_is_at_the_place_of_its_row() -> None:
    document: Any = summarise(*recorded("lossy_pair"))
    # Only a link with dualpi2 has the measures of two queues, only one with a policer or an ACK filter packets that it dropped.
    document["path"]["dual"] = summarise(*recorded("two_queues"))["path"]["dual"]
    policed: Any = summarise(*recorded("policed"))
    document |= {name: policed[name] for name in ("policed", "acks_filtered")}
    # Only a flow of requests has their measures, and only one at a barrier those of rounds.
    asked = {name: summarise(*recorded("barrier"))["flows"][3][name] for name in ("requests", "rounds")}
    parts = {
        "flow": [flow | asked for flow in document["flows"]],
        "path": [document["path"]],
        "run": [document],
    }
    parts["either"] = parts["flow"] + parts["path"]
    # A flow without a window, such as UDP, has null in place of its numbers.
    for measure in MEASURES.values():
        for part in parts[measure.of]:
            for name in measure.path:
                assert part is None or name in part, measure
                part = part and part[name]


def test_several_flows_together_have_the_sums_of_them_and_the_percentiles_of_all() -> None:
    document = summarise(*recorded("requests"))
    rpc, scan = document["totals"]
    clients, streams = document["flows"][:2], document["flows"][2:]
    assert rpc["requests"]["completed"] == sum(flow["requests"]["completed"] for flow in clients)
    times = rpc["requests"]["time_ms"]
    assert times is not None
    own = [flow["requests"]["time_ms"] for flow in clients]
    assert times["max"] == max(one["max"] for one in own if one)
    assert times["p50"] <= times["p95"] <= times["p99"] <= times["max"]
    assert "requests" not in scan
    assert scan["bytes"] == sum(flow["bytes"] for flow in streams) == 200_000
    assert scan["completion_s"] == max(flow["completion_s"] or 0 for flow in streams) == document["fct_max"]
    late = document["phases"]["late"]["totals"][0]["requests"]["completed"]
    assert 0 < late < rpc["requests"]["completed"]
    assert value_of(document, "request_p99", "rpc") == times["p99"]
    assert value_of(document, "bytes", "scan") == 200_000


@pytest.mark.parametrize(
    ("fact", "value", "name"),
    [
        ("requests_completed", 3, "requests of both ends"),
        ("requests_served", 0, "requests of both ends"),
        ("bytes_received", 1, "requests of both ends"),
        ("dscp_received", 0, "DSCP as asked"),
        ("dscp_sent", 35, "DSCP as asked"),
    ],
)
def test_a_count_of_one_end_that_differs_is_found(fact: str, value: int, name: str) -> None:
    run, trace, found = recorded("requests")
    assert failed_checks(run, trace, found) == set()
    found["flows"][0][fact] = value
    assert name in failed_checks(run, trace, found)


def test_rounds_are_those_of_the_clients_together_or_of_a_lone_one() -> None:
    document = summarise(*recorded("barrier"))
    (block,), flows = document["totals"], document["flows"]
    rounds, times = block["rounds"], block["rounds"]["time_ms"]
    assert times is not None
    assert 0 < rounds["completed"] <= min(flow["requests"]["completed"] for flow in flows[:3])
    slowest = [flow["requests"]["time_ms"] for flow in flows[:3]]
    assert times["max"] == max(one["max"] for one in slowest if one)
    assert all("rounds" not in flow for flow in flows[:3])
    assert flows[3]["rounds"]["time_ms"] == flows[3]["requests"]["time_ms"]
    assert 0 < document["phases"]["late"]["totals"][0]["rounds"]["completed"] < rounds["completed"]
    assert value_of(document, "round_p99", "block") == times["p99"]
    assert value_of(document, "round_p99", "block-1") is None


def _moved(events: Records, what: int, by_ns: int) -> None:
    """The second event of a kind, later and longer by some time."""
    at = np.flatnonzero(events["what"] == what)[1]
    for field in ("t_ns", "value"):
        events[field][at] = int(events[field][at]) + by_ns


@pytest.mark.parametrize(
    ("what", "by_ns"), [(EVENT_ROUND, 1), (EVENT_ROUND, -1), (EVENT_REQUEST, 1_000_000_000)], ids=str
)
def test_a_round_with_other_times_than_its_responses_is_found(what: int, by_ns: int) -> None:
    run, trace, found = recorded("barrier")
    assert failed_checks(run, trace, found) == set()
    _moved(trace.events, what, by_ns)
    assert "rounds of a barrier" in failed_checks(run, trace, found)


def test_a_round_that_begins_before_the_end_of_the_one_before_is_found() -> None:
    run, trace, found = recorded("barrier")
    asked = np.flatnonzero((trace.events["what"] == EVENT_REQUEST) & (trace.events["id"] < 3))
    ended = np.flatnonzero((trace.events["what"] == EVENT_ROUND) & (trace.events["id"] == 0))
    # The whole second round, a microsecond earlier at its begin.
    trace.events["value"][asked[3:6]] += 1000
    trace.events["value"][ended[1]] += 1000
    assert "rounds of a barrier" in failed_checks(run, trace, found)


@pytest.mark.parametrize("flow", [0, 2, 3])
def test_a_count_of_rounds_that_differs_is_found(flow: int) -> None:
    run, trace, found = recorded("barrier")
    found["flows"][flow]["rounds_completed"] += 1
    assert [check.name for check in check_fidelity(run, trace, found) if not check.ok] == ["rounds of a barrier"]


def test_a_response_without_its_event_is_no_round() -> None:
    run, trace, found = recorded("barrier")
    events = trace.events
    at = np.flatnonzero((events["what"] == EVENT_REQUEST) & (events["id"] == 1))[1]
    events["what"][at] = EVENT_REQUEST_LOST
    assert failed_checks(run, trace, found) == {"requests of both ends", "rounds of a barrier"}


@pytest.mark.parametrize("change", [{"bytes_received": 1}, {"bytes_sent": 10**9}])
def test_a_stream_whose_ends_differ_is_found(change: dict[str, int]) -> None:
    run, trace, found = recorded("requests")
    found["flows"][2] |= change
    assert "bytes of streams" in failed_checks(run, trace, found)


def test_a_recorded_run_keeps_its_numbers() -> None:
    run, trace, facts_then = recorded("lossy_pair")
    document = summarise(run, trace, facts_then)
    first, second, probe = document["flows"]
    assert probe["pdr"] is not None
    assert probe["goodput_bps"] == pytest.approx(400_000 * 1472 / 1514 * probe["pdr"], rel=0.02)
    carried = (first["throughput_bps"] + second["throughput_bps"] + probe["throughput_bps"]) / 1e6
    assert carried == pytest.approx(document["path"]["throughput_bps"] / 1e6, rel=0.05)
    assert document["path"]["losses"] > 0


def test_repeats_are_summarised_with_an_interval() -> None:
    values = np.array([1.0, 2.0, 3.0, 4.0, 100.0])
    assert trimmed_mean(values) == 3.0
    value, low, high = with_interval(values, "median")
    assert low <= value <= high
    assert with_interval(values, "mean") == with_interval(values, "mean")
    assert with_interval(np.array([7.0]), "mean") == (7.0, 7.0, 7.0)


def documents() -> list[Any]:
    run, trace, facts_then = recorded("lossy_pair")
    one: Any = summarise(run, trace, facts_then) | {"point": {}, "run": "one", "trace_sha256": "x"}
    other = copy.deepcopy(one) | {"run": "two", "trace_sha256": "y"}
    other["flows"][0]["goodput_bps"] *= 2
    return [one, other]


def test_a_summary_has_a_row_a_flow_and_measure() -> None:
    rows = summarise_repeats(documents(), "mean")
    (row,) = [row for row in rows if (row["flow"], row["measure"]) == ("first", "goodput_bps")]
    assert row["n"] == 2
    assert row["value"] == pytest.approx(1.5 * documents()[0]["flows"][0]["goodput_bps"])
    assert {"rtt_ms.p95", "utilisation", "queue_packets.mean", "jain"} <= {row["measure"] for row in rows}


@pytest.mark.parametrize(("low", "high", "ok"), [(0.1, None, True), (None, 0.1, False), (0.5, 2.0, True)])
def test_expectations_are_bounds(low: float | None, high: float | None, ok: bool) -> None:
    (document, _) = documents()
    assert value_of(document, "utilisation", None) is not None
    (verdict,) = evaluate([Expectation("utilisation", None, low, high, "utilisation")], document)
    assert verdict["ok"] is ok


@pytest.mark.parametrize(
    "measure, value, text",
    [
        ("goodput", 2_224_774.4, "2.22477 Mbit/s"),
        ("goodput", 16_610_004.0, "16.6100 Mbit/s"),
        ("goodput", 622_080_000.0, "622.080 Mbit/s"),
        ("rtt_mean", 60.2871, "60.287 ms"),
        ("completion_s", 12.5, "12.5 s"),
        ("queue_mean", 15.04, "15.04 packets"),
        ("bytes", 6_312_960, "6.31296 MB"),
        ("utilisation", 0.967231, "0.967231"),
    ],
)
def test_a_verdict_has_the_measured_value_with_its_unit(measure: str, value: float, text: str) -> None:
    assert say_amount(measure, value) == text


def test_a_measure_without_a_value_is_missed() -> None:
    (document, _) = documents()
    (verdict,) = evaluate([Expectation("completion_s", "first", None, 5.0, "completion")], document)
    assert verdict == {"ok": False, "text": "completion: has no value in this run", "value": None}


def test_every_followed_link_has_its_measures() -> None:
    run, trace, facts_then = recorded("lossy_pair")
    document = summarise(run, trace, facts_then)
    assert [link["name"] for link in document["links"]] == [link.name for link in run.links]
    assert document["links"][0] == {"name": "bottleneck", **document["path"]}
