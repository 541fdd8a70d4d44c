"""Place and clock of a run: valid combinations, and their effect on a plan."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.target import Venue, choose_venue
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError

WRITTEN: dict[str, Any] = {
    "experiment": "made",
    # The kernel's qdiscs, one for each part of a link.
    "emulation": "chain",
    "path": {"bandwidth": "8 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "a", "cc": "cubic"}],
    "schedule": [{"at": "5 s", "path": {"bandwidth": "16 Mbit/s"}}],
    "duration": "10 s",
}


def plan(where: str | None = None, clock: str | None = None, backend: str = "mininet", **changes: Any) -> Run:
    return compile_plan(parse_experiment(WRITTEN | changes), backend=backend, where=where, clock=clock).runs[0]


def bursts(run: Run) -> list[object]:
    qdiscs = [qdisc for end in run.ends for qdisc in end.qdiscs]
    qdiscs += [qdisc for change in run.device_changes for qdisc in change.qdiscs]
    return [qdisc.options["burst_bytes"] for qdisc in qdiscs if qdisc.kind == "tbf"]


@pytest.mark.parametrize(
    ("words", "venue"),
    [
        (("sandbox",), Venue("sandbox", "guest", "virtual")),
        (("mininet",), Venue("mininet", "host", "real")),
        (("mininet", "guest"), Venue("mininet", "guest", "virtual")),
        (("mininet", "guest", "real"), Venue("mininet", "guest", "real")),
        (("mininet", "host", "real"), Venue("mininet", "host", "real")),
    ],
)
def test_options_resolve_to_a_venue(words: tuple[str, ...], venue: Venue) -> None:
    assert choose_venue(*words) == venue


def test_in_a_guest_only_the_memory_differs() -> None:
    sandbox, mininet = plan(backend="sandbox"), plan("guest")
    assert mininet.memory_mb > sandbox.memory_mb
    assert (mininet.wires, mininet.nodes, mininet.trace) == (sandbox.wires, sandbox.nodes, sandbox.trace)


def test_in_real_time_limiters_have_credit_and_samples_an_interval() -> None:
    exact, patient = plan("guest"), plan("guest", "real")
    # 4 ms of 8 Mbit/s, and of the 16 Mbit/s that the schedule makes of it.
    assert [int(b) - int(a) for a, b in zip(bursts(exact), bursts(patient), strict=True)] == [4000, 8000]  # type: ignore[call-overload]
    assert (exact.trace.ack_us, patient.trace.ack_us) == (0, 10_000)
    assert plan("guest", "real", sample="50 ms").trace.ack_us == 50_000


def test_a_host_keeps_settings_that_its_kernel_has_only_once() -> None:
    assert plan("guest").sysctls
    assert plan("host").sysctls == ()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"flows": [{"name": "a", "cc": "cubic", "hystart": False}]}, "belong to the whole machine"),
        (
            {
                "flows": [{"name": "a", "cc": "lhfixed"}],
                "schedule": [{"at": "5 s", "flows": {"a": {"params": {"cwnd": "9 packets"}}}}],
            },
            "whole machine",
        ),
    ],
)
def test_changes_of_the_whole_machine_are_refused(changes: dict[str, Any], message: str) -> None:
    plan("guest", **changes)
    with pytest.raises(PlanError, match=message):
        plan("host", **changes)


def test_a_plan_in_real_time_notes_its_limits() -> None:
    notes = compile_plan(parse_experiment(WRITTEN), backend="mininet").lint
    assert any("sampled every 10 ms" in note for note in notes)
