"""Shapers in a plan: the bucket of tbf and of lh_link, and refusals; without one, the bucket of a frame."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Qdisc, Run
from longhaul.orchestrator.preview.describe import describe_run
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.guests import experiment


def run_of(path: dict[str, Any], backend: dict[str, Any] | None = None, **changes: Any) -> Run:
    return compile_plan(experiment(path={"bandwidth": "10 Mbit/s"} | path, **changes), **(backend or {})).runs[0]


def limiter_of(run: Run) -> Qdisc:
    end = next(end for end in run.ends if end.dev == run.links[0].dev)
    return next(qdisc for qdisc in end.qdiscs if "burst_bytes" in qdisc.options)


@pytest.mark.parametrize("emulation", ["single", "chain"])
def test_a_bucket_is_that_of_the_rate(emulation: str) -> None:
    limiter = limiter_of(run_of({"shaper": {"burst": "100 KB"}}, emulation=emulation))
    assert limiter.options["burst_bytes"] == 100_000
    assert "peak_bps" not in limiter.options
    limiter = limiter_of(run_of({"shaper": {"burst": "100 KB", "peak": "1 Gbit/s"}}, emulation=emulation))
    assert (limiter.options["peak_bps"], limiter.options["peak_burst_bytes"]) == (10**9, 1600)


def test_without_one_the_bucket_is_a_frame() -> None:
    assert limiter_of(run_of({})).options["burst_bytes"] == 1600
    assert "peak" not in str(run_of({}).as_json())


def test_the_preview_has_the_words_of_tc() -> None:
    text = "\n".join(describe_run(run_of({"shaper": {"burst": "100 KB", "peak": "1 Gbit/s"}}, emulation="chain")))
    assert "tbf rate 10000000bit burst 100000 limit 33 peakrate 1000000000bit mtu 1600" in text


def test_a_late_timer_gets_credit_in_both_buckets() -> None:
    """4 ms of 10 Mbit/s and of 50 Mbit/s."""
    run = run_of(
        {"shaper": {"burst": "100 KB", "peak": "50 Mbit/s"}},
        backend={"backend": "mininet", "where": "guest", "clock": "real"},
    )
    options = limiter_of(run).options
    assert (options["burst_bytes"], options["peak_burst_bytes"]) == (105_000, 26_600)


@pytest.mark.parametrize(
    ("path", "changes", "words"),
    [
        ({"shaper": {"burst": "1 KB"}}, {}, "less than one frame of 1514 bytes"),
        ({"shaper": {"burst": "1 MB", "peak": "10 Mbit/s"}}, {}, "not above the rate of the link"),
        ({"shaper": {"burst": "1 GB"}}, {}, "more than 240 s"),
        ({}, {"links": {"a1-s1": {"shaper": {"burst": "1 MB"}}}}, "the link has no rate to shape"),
        (
            {"shaper": {"burst": "1 MB", "peak": "12 Mbit/s"}},
            {"schedule": [{"at": "1 s", "path": {"bandwidth": "20 Mbit/s"}}]},
            "not above the rate of the link",
        ),
        (
            {"bandwidth": None, "buffer": "9 packets", "recording": {"model": "lte"}, "shaper": {"burst": "1 MB"}},
            {},
            "a recorded link carries what its recording says",
        ),
    ],
)
def test_what_is_not_possible_is_refused(path: dict[str, Any], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match=words):
        run_of(path, **changes)


def test_a_schedule_does_not_change_a_bucket() -> None:
    with pytest.raises(SpecError) as error:
        run_of({"shaper": {"burst": "1 MB"}}, schedule=[{"at": "1 s", "path": {"shaper": {"burst": "2 MB"}}}])
    assert "schedule" in str(error.value)
    assert "shaper" in str(error.value)
