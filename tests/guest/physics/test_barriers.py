"""Rounds of requests to many servers: their times on an idle path to the nanosecond, their order, and the collapse of incast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_ROUND
from tests.guest.physics.test_requests import CREDIT, HEADERS, MSS, PATH
from tests.support.guests import Finished, Runner, experiment

RTT_NS = 40_000_000
# A port of a data centre, with the buffer of a shallow one.
PORT: dict[str, Any] = {"n": 64, "bw": "1 Gbit/s", "rtt": "200 us", "queue": "64 packets"}


def block(connections: int, **requests: Any) -> dict[str, Any]:
    """The servers, one behind the other at the senders of the topology."""
    return {"name": "block", "cc": "reno", "requests": {"connections": connections, "barrier": "on"} | requests}


def rounds_ns(done: Finished) -> list[int]:
    events = done.trace.events
    return [int(one) for one in events["value"][events["what"] == EVENT_ROUND]]


def spans(done: Finished, flow: int) -> tuple[Any, Any]:
    """When the requests of a connection began and ended, in nanoseconds."""
    events = done.trace.events
    own = events[(events["what"] == EVENT_REQUEST) & (events["id"] == flow)]
    ends = own["t_ns"].astype(np.int64)
    return ends - own["value"].astype(np.int64), ends


def whole(done: Finished) -> Any:
    return done.document["totals"][0]


def assert_rounds_follow_each_other(done: Finished, connections: int) -> None:
    begins, ends = zip(*(spans(done, flow) for flow in range(connections)), strict=True)
    events = done.trace.events
    ended = events["t_ns"][events["what"] == EVENT_ROUND].astype(np.int64)
    for number, (end_ns, took_ns) in enumerate(zip(ended, rounds_ns(done), strict=True)):
        of_round = [one[number] for one in begins]
        # All ask at one instant, and the last response is the end.
        assert {int(one) for one in of_round} == {int(end_ns) - took_ns}
        assert max(int(one[number]) for one in ends) == end_ns
        if number:
            assert min(of_round) >= ended[number - 1]
    assert {len(one) for one in begins} <= {len(ended), len(ended) + 1}
    # A round that the end of the run cuts lacks a response.
    assert min(len(one) for one in begins) == len(ended)


def line_ns(blocks: int, response: int, rate_bps: int) -> int:
    """How long an idle line takes for all blocks of a round, beyond what is on credit."""
    frames = blocks * (response + HEADERS * math.ceil(response / MSS))
    return max(0, frames - CREDIT) * 8 * 10**9 // rate_bps


@pytest.mark.parametrize("connections", [1, 2, 9, 32])
@pytest.mark.parametrize("response", [100, 10_000, 14_480])
def test_a_round_takes_a_round_trip_and_the_time_of_all_blocks_on_the_line(
    finish: Runner, connections: int, response: int
) -> None:
    done = finish(
        path=PATH, flows=[block(connections, response=f"{response} B", think="100 ms", count=10)], duration="5 s"
    )
    found = rounds_ns(done)
    assert len(found) == 10
    # An ACK of its own goes ahead of the first responses; later rounds have the whole credit.
    assert found[5:] == [RTT_NS + line_ns(connections, response, 100_000_000)] * 5
    total = whole(done) if connections > 1 else done.document["flows"][0]
    assert total["rounds"]["completed"] == 10
    assert total["rounds"]["time_ms"]["p50"] == found[5] / 1e6
    assert total["requests"]["completed"] == 10 * connections
    assert total["bytes"] == 10 * connections * response
    assert_rounds_follow_each_other(done, connections)


@pytest.mark.parametrize("connections", [1, 8, 64])
def test_servers_on_hosts_of_their_own_share_the_port_of_the_client(finish: Runner, connections: int) -> None:
    done = finish(
        topology="incast",
        params=PORT | {"queue": "1000 packets"},
        path=None,
        flows=[block(connections, response="10 KB", think="10 ms", count=10)],
        duration="1 s",
    )
    assert len({flow.from_node for flow in done.run.flows}) == connections
    found = rounds_ns(done)
    assert found[5:] == [200_000 + line_ns(connections, 10_000, 10**9)] * 5
    assert_rounds_follow_each_other(done, connections)


def test_think_and_every_are_the_times_of_rounds(finish: Runner) -> None:
    for fields, apart_ns in (({"think": "60 ms"}, 100_000_000), ({"every": "200 ms"}, 200_000_000)):
        done = finish(path=PATH, flows=[block(3, response="100 B", **fields)], duration="5 s")
        begins = [spans(done, flow)[0] for flow in range(3)]
        assert all((one == begins[0]).all() for one in begins)
        assert set(np.diff(begins[0])[2:].tolist()) == {apart_ns}
    late = finish(path=PATH, flows=[block(3, response="100 B", every="10 ms")], duration="5 s")
    # The interval is shorter than a round trip, so each round follows the one before.
    assert set(np.diff(spans(late, 0)[0])[2:].tolist()) == {RTT_NS}


def test_with_new_connections_a_round_begins_with_all_handshakes(finish: Runner) -> None:
    done = finish(
        path=PATH, flows=[block(5, response="10 KB", new_connection="on", every="500 ms", count=4)], duration="3 s"
    )
    found = rounds_ns(done)
    # Segments of a handshake are in front of the responses, within the credit.
    assert found == pytest.approx([2 * RTT_NS + line_ns(5, 10_000, 100_000_000)] * 4, abs=100_000)
    assert_rounds_follow_each_other(done, 5)
    assert {fact["connections"] for fact in done.facts["flows"]} == {4}
    assert whole(done)["completion_s"] == pytest.approx(1.5 + found[-1] / 1e9, abs=1e-5)


def test_windows_and_phases_have_the_rounds_that_end_in_them(finish: Runner) -> None:
    done = finish(
        path=PATH,
        flows=[block(4, response="10 KB")],
        duration="4 s",
        warmup="1050 ms",
        phases={"early": ["0 s", "1050 ms"], "none": ["1 ms", "2 ms"]},
        expect=[
            {"measure": "rounds", "flow": "block", "at_least": 60},
            {"measure": "round_p99", "flow": "block", "phase": "early", "at_most": "60 ms"},
        ],
    )
    assert done.document["status"] == "done"
    early, none = (done.document["phases"][name]["totals"][0]["rounds"] for name in ("early", "none"))
    late = whole(done)["rounds"]
    assert (early["completed"] > 0, early["completed"] + late["completed"]) == (True, len(rounds_ns(done)))
    assert none == {"completed": 0, "time_ms": None}


def test_a_lost_packet_of_one_server_holds_the_round_of_all(finish: Runner) -> None:
    done = finish(
        path=PATH | {"loss": "1 %", "reverse_loss": "1 %"}, flows=[block(8, response="10 KB")], duration="20 s"
    )
    assert_rounds_follow_each_other(done, 8)
    times = whole(done)["rounds"]["time_ms"]
    # Requests and last packets are lost too, and wait for a timeout of 200 ms at least.
    assert times["max"] > 240
    assert times["p50"] > whole(done)["requests"]["time_ms"]["p50"]


def test_a_path_without_answers_has_no_round(finish: Runner) -> None:
    done = finish(path=PATH | {"loss": 1}, flows=[block(3, response="1 KB")], duration="3 s")
    assert whole(done)["rounds"] == {"completed": 0, "time_ms": None}
    assert whole(done)["completion_s"] is None


def test_a_schedule_changes_the_path_of_rounds(finish: Runner) -> None:
    done = finish(
        path=PATH,
        flows=[block(4, response="100 B")],
        duration="4 s",
        schedule=[{"at": "2 s", "path": {"rtt": "80 ms"}}],
    )
    found = rounds_ns(done)
    assert (found[5], found[-1]) == (RTT_NS, 2 * RTT_NS)
    assert_rounds_follow_each_other(done, 4)


def test_two_barriers_do_not_wait_for_each_other(finish: Runner) -> None:
    slow = block(2, response="100 B", think="300 ms") | {"name": "slow"}
    done = finish(path=PATH, flows=[block(3, response="100 B", count=20) | {"count": 2}, slow], duration="4 s")
    first, second, last = done.document["totals"]
    assert [one["rounds"]["completed"] for one in (first, second)] == [20, 20]
    assert last["rounds"]["completed"] == 12
    assert first["completion_s"] < 1


def test_with_a_stop_the_last_round_is_cut(finish: Runner) -> None:
    done = finish(path=PATH, flows=[block(3, response="10 KB") | {"stop": "1010 ms"}], duration="2 s")
    assert_rounds_follow_each_other(done, 3)
    assert {fact["requests_sent"] - fact["rounds_completed"] for fact in done.facts["flows"]} == {1}


@pytest.mark.parametrize("kernel", ORDINARY_KERNELS)
def test_in_several_guests_the_rounds_are_those_of_one(pipeline: Pipeline, kernel: str) -> None:
    traces = set()
    for parts in (1, 2, 3):
        plan = compile_plan(
            experiment(
                params={"n": 6},
                path={"buffer": "20 packets"},
                flows=[block(6, response="20 KB") | {"sender": "a*", "receiver": "b1"}],
                kernel=kernel,
                parts=parts,
                duration="4 s",
            )
        )
        (document,) = Pipeline(pipeline.backend, pipeline.store, use_cache=False).execute(plan)
        assert document["status"] == "done", document
        assert document["totals"][0]["rounds"]["completed"] > 5
        traces.add(document["trace_sha256"])
    assert len(traces) == 1


def collapse(finish: Runner, servers: int, cc: str = "cubic", **path: Any) -> Any:
    """The total of servers with 32 KB each behind a shallow port."""
    port = {"bandwidth": "1 Gbit/s", "rtt": "200 us", "buffer": "64 packets"}
    flow = block(servers, response="32 KB") | {"cc": cc}
    return whole(finish(topology="incast", params=PORT, path=port | path, flows=[flow], duration="2 s"))


def test_many_servers_collapse_a_shallow_port(finish: Runner) -> None:
    """Phanishayee et al. 2008: the client waits for the timeouts of single servers while the line is idle."""
    few, many = collapse(finish, 2), collapse(finish, 48)
    assert few["goodput_bps"] > 700e6
    assert few["rounds"]["time_ms"]["p99"] < 2
    assert many["goodput_bps"] < 150e6
    assert 200 < many["rounds"]["time_ms"]["p50"] < 250


def test_marks_or_a_larger_buffer_prevent_the_collapse(finish: Runner) -> None:
    dropped = collapse(finish, 24)
    assert dropped["rounds"]["time_ms"]["p99"] > 200
    assert dropped["goodput_bps"] < 400e6
    marked = collapse(finish, 24, cc="dctcp", queue="step", mark_at="20 packets", ecn="on")
    deep = collapse(finish, 24, buffer="1000 packets")
    for relieved in (marked, deep):
        assert relieved["rounds"]["time_ms"]["p99"] < 20
        assert relieved["goodput_bps"] > 850e6
