"""Requests and responses: to the nanosecond what the path's numbers come to, and the round trips of slow start."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_REQUEST_LOST
from tests.support.guests import Finished, Runner

MSS = 1448
RATE_BPS = 100_000_000
HEADERS = 66
# The limiter has this many bytes on credit when it was idle.
CREDIT = 1600
PATH: dict[str, Any] = {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "1000 packets"}


def client(**requests: Any) -> dict[str, Any]:
    return {"name": "rpc", "requests": requests} | ({} if "over" in requests else {"cc": "reno"})


def times_ns(done: Finished, flow: int = 0) -> list[int]:
    events = done.trace.events
    return [int(one) for one in events["value"][(events["what"] == EVENT_REQUEST) & (events["id"] == flow)]]


def line_ns(payload: int, credit: int) -> int:
    """How long the line takes for the frames of some bytes, beyond what is on credit."""
    frames = payload + HEADERS * math.ceil(payload / MSS)
    return max(0, frames - credit) * 8 * 10**9 // RATE_BPS


@pytest.mark.parametrize("response", [1, 100, 1448, 10_000, 14_480])
def test_a_response_within_the_first_window_takes_a_round_trip_and_its_time_on_the_line(
    finish: Runner, response: int
) -> None:
    done = finish(
        path=PATH, flows=[client(request="100 B", response=f"{response} B", think="100 ms", count=20)], duration="5 s"
    )
    found = times_ns(done)
    assert len(found) == 20
    # An ACK of its own goes ahead of the first responses; the others have the whole credit.
    assert found[10:] == [40_000_000 + line_ns(response, CREDIT)] * 10
    (flow,) = done.document["flows"]
    assert flow["requests"]["completed"] == 20
    assert flow["requests"]["time_ms"]["p50"] == found[10] / 1e6
    assert flow["requests"]["time_ms"]["max"] == max(found) / 1e6
    assert flow["bytes"] == 20 * response


@pytest.mark.parametrize(("segments", "rounds"), [(10, 1), (11, 2), (30, 2), (31, 3), (70, 3), (71, 4), (150, 4)])
def test_a_new_connection_takes_the_round_trips_of_slow_start(finish: Runner, segments: int, rounds: int) -> None:
    """10, 20, 40 and 80 segments, after a round trip of handshake; the window is open, and the line takes a tenth of a round trip."""
    response = segments * MSS
    done = finish(
        path=PATH | {"bandwidth": "10 Gbit/s"},
        flows=[client(request="100 B", response=f"{response} B", every="1 s", count=3, new_connection="on")],
        duration="4 s",
    )
    found = np.array(times_ns(done)) / 40e6
    assert len(found) == 3
    assert found == pytest.approx([1 + rounds] * 3, abs=0.05)
    (flow,) = done.facts["flows"]
    assert flow["connections"] == 3
    assert done.document["flows"][0]["completion_s"] == pytest.approx(2 + found[2] * 0.04, abs=0.0001)


def test_every_and_think_are_the_times_of_requests(finish: Runner) -> None:
    done = finish(
        path=PATH,
        flows=[
            client(response="1 KB", every="200 ms"),
            client(response="1 KB", think="60 ms") | {"name": "other"},
            client(response="1 KB", every="10 ms") | {"name": "late"},
        ],
        duration="5 s",
    )
    ends = [
        done.trace.events[(done.trace.events["what"] == EVENT_REQUEST) & (done.trace.events["id"] == at)]["t_ns"]
        for at in range(3)
    ]
    assert set(np.diff(ends[0])[2:].tolist()) == {200_000_000}
    assert set(np.diff(ends[1])[2:].tolist()) == {100_000_000}
    # Its interval is shorter than a round trip, so each request follows the response before.
    assert np.diff(ends[2])[2:] == pytest.approx(40_000_000, abs=200_000)


def test_connections_ask_by_themselves_and_have_a_total(finish: Runner) -> None:
    done = finish(
        path=PATH,
        flows=[client(response="10 KB", count=10, connections=4)],
        duration="4 s",
        phases={"early": ["0 s", "200 ms"], "late": ["200 ms", "4 s"]},
        expect=[{"measure": "requests", "flow": "rpc", "at_least": 40, "at_most": 40}],
    )
    (whole,) = done.document["totals"]
    assert done.document["status"] == "done"
    pooled = sorted(time for flow in range(4) for time in times_ns(done, flow))
    assert whole["requests"]["time_ms"]["p99"] == pytest.approx(np.percentile(pooled, 99) / 1e6)
    assert whole["completion_s"] == max(flow["completion_s"] for flow in done.document["flows"])
    early, late = (done.document["phases"][name]["totals"][0]["requests"]["completed"] for name in ("early", "late"))
    assert (early > 0, early + late) == (True, 40)


def test_ecn_and_dctcp_hold_between_client_and_server(finish: Runner) -> None:
    for flow, path in (({"ecn": "on"}, {}), ({"cc": "dctcp"}, {}), ({}, {"ecn": "on"})):
        done = finish(path=PATH | path, flows=[client(response="50 KB") | flow], duration="1 s")
        assert done.facts["flows"][0]["ecn"] is True


def test_a_path_without_answers_has_no_requests(finish: Runner) -> None:
    done = finish(path=PATH | {"loss": 1}, flows=[client(response="1 KB")], duration="3 s")
    (flow,) = done.document["flows"]
    assert flow["requests"] == {"completed": 0, "lost": 0, "time_ms": None}
    assert flow["connected_s"] is None


def test_losses_are_repaired_and_timed(finish: Runner) -> None:
    done = finish(
        path=PATH | {"loss": "1 %", "reverse_loss": "1 %"},
        flows=[
            client(response="30 KB", new_connection="on"),
            client(response="1 KB") | {"name": "kept", "stop": "4 s"},
        ],
        duration="10 s",
    )
    for flow in done.document["flows"]:
        times = flow["requests"]["time_ms"]
        # A lost request, or the end of a response, waits for a timeout of 200 ms at least.
        assert times["max"] > 200
        assert times["p50"] < 130


@pytest.mark.parametrize("response", [64, 1000, 1472])
def test_a_ping_takes_the_round_trip_to_the_nanosecond(finish: Runner, response: int) -> None:
    done = finish(
        path=PATH,
        flows=[client(over="udp", request="64 B", response=f"{response} B", every="200 ms", count=10)],
        duration="5 s",
    )
    # One frame is on credit.
    assert times_ns(done) == [40_000_000] * 10
    (flow,) = done.document["flows"]
    assert (flow["cc"], flow["bytes"], flow["completion_s"]) == (None, 10 * response, 9 * 0.2 + 0.04)


def test_a_ping_waits_in_a_queue_as_other_packets_do(finish: Runner) -> None:
    """A window that fills the path and 100 packets of its queue delays each response by those 100."""
    bulk = {"name": "bulk", "cc": "lhfixed", "params": {"cwnd": "430 packets"}}
    done = finish(
        path=PATH,
        flows=[bulk, client(over="udp", every="37 ms")],
        duration="5 s",
        warmup="2 s",
    )
    queue_ms = done.document["path"]["queue_delay_percentiles_ms"]["p50"]
    times = done.document["flows"][1]["requests"]["time_ms"]
    assert times["p50"] == pytest.approx(40 + queue_ms, abs=0.3)
    assert queue_ms > 10


def test_lost_pings_time_out_and_count(finish: Runner) -> None:
    done = finish(
        path=PATH | {"loss": "10 %", "reverse_loss": "10 %", "duplicate": "5 %", "jitter": "2 ms"},
        flows=[client(over="udp", every="50 ms", timeout="100 ms", connections=4)],
        duration="60 s",
        phases={"late": ["30 s", "60 s"]},
    )
    (whole,) = done.document["totals"]
    requests = whole["requests"]
    share = requests["lost"] / (requests["lost"] + requests["completed"])
    # Lost on either way.
    assert share == pytest.approx(0.19, abs=0.03)
    events = done.trace.events
    waits = events["value"][events["what"] == EVENT_REQUEST_LOST]
    assert set(waits.tolist()) == {100_000_000}
    assert len(waits) == requests["lost"]
    assert 0 < done.document["phases"]["late"]["totals"][0]["requests"]["lost"] < requests["lost"]


def test_a_dark_path_loses_every_ping(finish: Runner) -> None:
    done = finish(path=PATH | {"loss": 1}, flows=[client(over="udp")], duration="3500 ms")
    assert done.document["flows"][0]["requests"] == {"completed": 0, "lost": 3, "time_ms": None}
