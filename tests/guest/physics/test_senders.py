"""Only their windows limit senders; a run with another limit has no result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import FidelityBroken, sentence
from tests.bench.limits import CONTROLS, filling_experiment
from tests.support.guests import Runner, experiment

_LONG = {"bandwidth": "10 Gbit/s", "rtt": "500 ms", "buffer": "1 BDP", "mtu": 9000}
# The initial send buffer of Linux.
_BEGUN = ("net/ipv4/tcp_wmem", "4096 131072 2130706432")
# A window of 64 KB that never opens.
_CLOSED = ("net/ipv4/tcp_rmem", "4096 131072 131072")
_LARGE = {"name": "one", "cc": "lhfixed", "params": {"cwnd": "68000 packets"}}


def with_sysctl(run: Run, name: str, value: str) -> Run:
    """The run with another value of a sysctl on every host, set after compilation."""
    nodes = [
        node if node.bridge else replace(node, sysctls=tuple({**dict(node.sysctls), name: value}.items()))
        for node in run.nodes
    ]
    return replace(run, nodes=tuple(nodes))


def document_with_sysctl(pipeline: Pipeline, name: str, value: str, **changes: Any) -> RunDocument:
    """The document of a run with another value of a sysctl on every host."""
    plan = compile_plan(experiment(**changes))
    (document,) = pipeline.execute(
        Plan(plan.experiment, (with_sysctl(plan.runs[0], name, value),), plan.notes, plan.graph)
    )
    return document


def why_void(pipeline: Pipeline, name: str, value: str, **changes: Any) -> str:
    """The reason why the run is refused, with its remedy."""
    document = document_with_sysctl(pipeline, name, value, **changes)
    assert document["status"] == "failed"
    assert document["error"]["error"] == FidelityBroken.__name__
    return sentence(document["error"])


def test_a_window_of_600_mb_is_sent(finish: Runner) -> None:
    """Twice its packets, at the size that the kernel accounts for each, exceeds an int (tcp_sndbuf_expand)."""
    done = finish(path=_LONG, flows=[_LARGE], duration="7 s", warmup="6 s", sample="10 ms")
    (flow,) = done.document["flows"]
    assert flow["goodput_bps"] == pytest.approx(68_000 * 8948 * 8 / 0.5, rel=0.005)


def test_a_limit_without_a_name_voids_the_run(pipeline: Pipeline) -> None:
    """The send buffer has room for a dozen of the 68000 packets, and no limit timer of the kernel runs."""
    long: dict[str, Any] = {"path": _LONG, "duration": "8 s", "sample": "10 ms"}
    what = why_void(pipeline, *_BEGUN, **long, flows=[_LARGE])
    assert "limits have names" in what
    assert "sample: every-ack" in what
    assert "window of the flow: a cap below its bytes in flight" in what
    # The named remedy helps.
    assert (
        document_with_sysctl(pipeline, *_BEGUN, **long, flows=[{**_LARGE, "window": "6 packets"}])["status"] == "done"
    )


def test_a_window_that_does_not_open_voids_the_run(pipeline: Pipeline) -> None:
    """This also holds for a short run, most of which are its first three round trips."""
    small: dict[str, Any] = {"path": {"rtt": "500 ms"}, "duration": "6 s"}
    what = why_void(pipeline, *_CLOSED, **small)
    assert "not limited by buffers" in what
    assert "window of the flow: a cap on the bytes in flight" in what
    # The named remedy helps.
    capped = {"name": "one", "cc": "cubic", "window": "40 packets"}
    assert document_with_sysctl(pipeline, *_CLOSED, **small, flows=[capped])["status"] == "done"


@pytest.mark.parametrize("bandwidth", ["1 Mbit/s", "10 Mbit/s"])
def test_jumbo_frames_on_slow_paths_are_right(finish: Runner, bandwidth: str) -> None:
    finish(
        path={"bandwidth": bandwidth, "rtt": "20 ms", "buffer": "20 packets", "mtu": 9000},
        flows=[{"name": "many", "cc": "cubic", "count": 5}],
        duration="10 s",
        start_jitter="1 RTT",
    )


def test_a_large_first_window_on_a_slow_path_is_right(finish: Runner) -> None:
    finish(
        path={"bandwidth": "1 Mbit/s", "rtt": "20 ms", "buffer": "50 packets"},
        flows=[{"name": "one", "cc": "cubic", "initial_window": 100}],
        duration="10 s",
    )


def test_no_buffer_limits_bbr_where_retransmissions_are_lost(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "100 Mbit/s", "rtt": "200 ms", "buffer": "0.2 BDP"},
        flows=[{"name": "bbr", "cc": "bbr", "count": 2}],
        duration="8 s",
        start_jitter="1 RTT",
    )
    assert not any(fact["sndbuf_limited_us"] for fact in done.facts["flows"])


@pytest.mark.parametrize("cc", CONTROLS)
@pytest.mark.parametrize(("rate_mbps", "rtt_ms", "mtu"), [(1000, 1, 9000), (10_000, 2, 1500), (10, 10_000, 9000)])
def test_no_unnamed_limit_applies_at_a_corner(finish: Runner, cc: str, rate_mbps: int, rtt_ms: int, mtu: int) -> None:
    """The long form is tests/bench/limits.py."""
    written = filling_experiment(cc, rate_mbps, rtt_ms, mtu)
    del written["experiment"]
    finish(**written)
