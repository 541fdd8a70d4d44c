"""Comparisons of kernels with made-up runs: which experiments run, on which kernel, and how the runs are paired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from longhaul.laboratory import kernel_comparisons
from longhaul.laboratory.experiments import load
from longhaul.laboratory.kernel_comparisons import compare_kernels, on_kernel
from longhaul.orchestrator.papers.load import load_paper
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.system.errors import PlanError, SpecError

QUICK = {
    "experiment": "mine",
    "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms"},
    "flows": [{"name": "app", "cc": "cubic"}],
    "duration": "2 s",
}


def document(run: Run, point: dict[str, str]) -> Any:
    """A run whose goodput is 10 % less on 6.1."""
    return {
        "run": run_id(run, {}),
        "status": "done",
        "clock": "virtual",
        "kernel": run.kernel,
        "seed": run.seed,
        "point": point,
        "trace_sha256": run_id(run, {}),
        "flows": [{"name": "app", "goodput_bps": (9e6 if run.kernel == "6.1" else 1e7) + run.seed}],
        "path": {},
        "jain": None,
    }


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[Plan]:
    """The plans that were run, without a guest."""
    run: list[Plan] = []

    def execute(_: object, given: Sequence[Plan], __: object) -> list[list[Any]]:
        run.extend(given)
        return [[document(run, dict(run.point)) for run in plan.runs] for plan in given]

    @contextmanager
    def opened(*_: object, **__: object) -> Iterator[None]:
        yield None

    monkeypatch.setattr(kernel_comparisons, "execute", execute)
    monkeypatch.setattr(kernel_comparisons, "open_pipeline", opened)
    monkeypatch.setattr(kernel_comparisons, "planned_here", lambda _: None)
    return run


def test_an_experiment_runs_on_both_kernels_and_its_runs_are_paired_by_seed(plans: list[Plan]) -> None:
    found = compare_kernels("6.12", "6.1", load(QUICK), repeats=4, gates=["goodput(app)"]).document
    assert [[run.kernel for run in plan.runs] for plan in plans] == [["6.12"] * 4, ["6.1"] * 4]
    (gated,) = [row for row in found["measures"] if row["gates"]]
    assert (found["a"], found["b"]) == ("kernel 6.12", "kernel 6.1")
    assert (gated["n"], gated["verdict"], round(gated["effect"], 3)) == (4, "worse", -0.1)
    assert not found["ok"]


def test_the_points_of_a_sweep_are_paired_with_each_other(plans: list[Plan]) -> None:
    swept = load(QUICK, set={"sweep": {"kernel": ["6.12", "5.10"], "flows.app.cc": ["cubic", "reno"]}})
    found = compare_kernels("6.12", "6.1", swept, repeats=3).document
    points = [row["point"]["flows.app.cc"] for row in found["measures"] if row["measure"] == "goodput"]
    assert (points, len(found["pairs"])) == (["cubic", "reno"], 6)
    assert not found["only_a"] and not found["only_b"]


def test_a_sweep_over_kernels_keeps_the_ids_of_its_runs() -> None:
    for sweep in (
        {"kernel": ["6.12", "6.1"], "flows.app.cc": ["cubic", "reno"]},
        [{"kernel": "6.12", "path.rtt": "10 ms"}, {"kernel": "6.1", "path.rtt": "10 ms"}],
    ):
        swept = load(QUICK, set={"sweep": sweep})
        whole = compile_plan(swept).runs
        on_one = compile_plan(on_kernel(swept, "6.1")).runs
        ids = [run_id(run, {}) for run in on_one]
        assert ids == [run_id(run, {}) for run in whole if run.kernel == "6.1"]
        assert len(set(ids)) == len(ids) > 0


def test_a_pack_runs_every_experiment_and_names_it_in_the_point(plans: list[Plan]) -> None:
    found = compare_kernels("6.12", "6.1", "datacenter", repeats=1, set={"sample": "10 ms"}).document
    named = [use.experiment for figure in load_paper("datacenter").figures for use in figure.uses]
    assert {row["point"]["experiment"] for row in found["measures"]} == set(named)
    assert len(plans) == 2 * len(set(named))
    assert {plan.experiment.sample for plan in plans} == {load(QUICK, set={"sample": "10 ms"}).sample}


def test_the_watcher_sees_the_runs_of_both_sides(plans: list[Plan]) -> None:
    seen: list[Run] = []

    @contextmanager
    def watcher(runs: Sequence[Run]) -> Iterator[Any]:
        seen.extend(runs)
        yield None

    compare_kernels("6.12", "6.1", load(QUICK), repeats=2, watcher=watcher)
    assert [run.kernel for run in seen] == ["6.12", "6.12", "6.1", "6.1"]


def test_one_kernel_and_unknown_experiments_are_refused(plans: list[Plan]) -> None:
    with pytest.raises(PlanError, match="both sides are the same kernel"):
        compare_kernels("6.12", "6.12", load(QUICK))
    with pytest.raises(SpecError):
        compare_kernels("6.12", "6.1", "no-such-pack")
    assert not plans
