"""Mininet in a guest: the sandbox's numbers in virtual time, similar numbers in real time, none if the guest cannot keep up."""

from __future__ import annotations

from typing import Any

import pytest

from tests.mininet.conftest import Carry

SANDBOX = {"backend": "sandbox"}
VIRTUAL = {"backend": "mininet", "where": "guest"}
REAL = {"backend": "mininet", "where": "guest", "clock": "real"}

RERUNS = 6
# Other work on this machine may break a run's budget; a refused run shows nothing either way.
REAL_TRIES = 8


def only(documents: list[dict[str, Any]]) -> dict[str, Any]:
    (document,) = documents
    assert document["status"] == "done", document.get("error")
    return document


@pytest.mark.parametrize("bandwidth", ["20 Mbit/s", "100 Mbit/s", "622 Mbit/s"])
@pytest.mark.parametrize("tool", ["lh-flow", "iperf3"])
def test_in_virtual_time_mininet_and_the_sandbox_agree(carry: Carry, bandwidth: str, tool: str) -> None:
    path, flows = {"bandwidth": bandwidth, "rtt": "40 ms"}, [{"name": "one", "cc": "cubic", "tool": tool}]
    sandbox, mininet = (only(carry(place, path=path, flows=flows))["flows"][0] for place in (SANDBOX, VIRTUAL))
    assert mininet["goodput_bps"] == pytest.approx(sandbox["goodput_bps"], rel=0.005)
    assert mininet["rtt_ms"]["min"] == pytest.approx(sandbox["rtt_ms"]["min"], abs=0.02)


def test_rounds_of_a_barrier_take_as_long_in_mininet_as_in_the_sandbox(carry: Carry) -> None:
    requests = {"response": "10 KB", "connections": 4, "barrier": "on", "think": "100 ms"}
    path, flows = {"bandwidth": "100 Mbit/s", "rtt": "20 ms"}, [{"name": "block", "requests": requests}]
    sandbox, mininet = (only(carry(place, path=path, flows=flows))["totals"][0] for place in (SANDBOX, VIRTUAL))
    assert mininet["rounds"]["completed"] == sandbox["rounds"]["completed"] > 20
    assert mininet["rounds"]["time_ms"]["p50"] == pytest.approx(sandbox["rounds"]["time_ms"]["p50"], abs=0.02)


def test_reruns_in_virtual_time_are_identical(carry: Carry) -> None:
    """With loss, jitter and background traffic, which draw random numbers, and with Python and its shells."""
    flows = [
        {"name": "pair", "cc": "cubic", "count": 2},
        {"name": "back", "on_off": {"rate": "4 Mbit/s", "on": "200 ms", "off": "300 ms"}},
    ]
    path = {"bandwidth": "20 Mbit/s", "rtt": "30 ms", "loss": 1e-3, "jitter": "2 ms"}
    documents = carry(VIRTUAL, times=RERUNS, path=path, flows=flows, duration="2 s", start_jitter="1 RTT")
    assert all(document["status"] == "done" for document in documents), documents
    assert len({document["trace_sha256"] for document in documents}) == 1


def test_mininet_supports_every_feature_of_an_experiment(carry: Carry) -> None:
    """A module, a schedule, AQM with marks, a web user, iperf3, and flows with different round trips."""
    flows = [
        {"name": "a", "cc": "htcp", "rtt": "60 ms"},
        {"name": "b", "cc": "vegas", "initial_window": 4},
        {"name": "web", "web": {"mean": "100 kB", "shape": 1.2, "think": "100 ms"}, "cc": "cubic"},
        {"name": "iperf", "cc": "cubic", "tool": "iperf3"},
    ]
    schedule = [{"at": "2 s", "path": {"rtt": "80 ms"}, "flows": {"b": {"cc": "reno"}}}]
    path = {"queue": "fq_codel", "ecn": "on", "bandwidth": "30 Mbit/s"}
    sandbox, mininet = (only(carry(place, path=path, flows=flows, schedule=schedule)) for place in (SANDBOX, VIRTUAL))
    assert mininet["path"]["marks"] > 0
    assert all(flow["bytes"] > 100_000 for flow in mininet["flows"])
    # fq_codel hashes flows with a random key, so the backends have different runs.
    assert mininet["path"]["utilisation"] == pytest.approx(sandbox["path"]["utilisation"], rel=0.15)


@pytest.mark.real_time
def test_in_real_time_mininet_is_near_the_sandbox(carry: Carry) -> None:
    path = {"bandwidth": "20 Mbit/s", "rtt": "40 ms"}
    sandbox = only(carry(SANDBOX, path=path))["flows"][0]
    for _ in range(REAL_TRIES):
        (document,) = carry(REAL, path=path)
        if document["status"] == "done":
            break
        assert "cpu budget" in document["error"]["what"], document["error"]
    else:
        pytest.fail("this machine has no time to spare: every run broke its CPU budget; run the test on a quieter one")
    (flow,) = document["flows"]
    assert flow["goodput_bps"] == pytest.approx(sandbox["goodput_bps"], rel=0.03)
    assert flow["rtt_ms"]["min"] == pytest.approx(sandbox["rtt_ms"]["min"], abs=2)
    assert flow["cwnd_packets"]["max"] > document["path"]["queue_packets"]["max"] > 0
    assert (document["clock"], flow["loss_ratio"], flow["pdr"]) == ("real", None, None)
    assert document["path"]["drops"] > 0


@pytest.mark.real_time
def test_a_guest_that_cannot_keep_up_gives_no_numbers(carry: Carry) -> None:
    """413 thousand packets a second are more than any guest forwards in real time. UDP sends them at once; TCP may take longer than the run."""
    flows = [{"name": "one", "udp": "5 Gbit/s"}]
    (document,) = carry(REAL, path={"bandwidth": "5 Gbit/s", "rtt": "40 ms"}, flows=flows, duration="3 s")
    assert document["status"] == "failed"
    assert document["error"]["error"] == "FidelityBroken", document["error"]
    assert "cpu budget" in document["error"]["what"]
