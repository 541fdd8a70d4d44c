"""Unusual experiments in real guests, checked against rules for every run.

`--runs` experiments in batches, each batch from a different seed, so that batches can run on several processors and one can be
repeated. A failing experiment is minimised and kept under build/fuzz, as a file that `longhaul run` accepts.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, given
from hypothesis import seed as from_seed
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.database import ExampleDatabase

from longhaul.orchestrator.spec.kernel_versions import DEBUG_KERNELS
from longhaul.orchestrator.system.errors import LonghaulError, PlanError
from tests.fuzz.experiments import Budget, Written, experiments
from tests.fuzz.invariants import violations
from tests.fuzz.lab import Lab

KEPT = Path(__file__).resolve().parents[2] / "build" / "fuzz"

_BATCH = 20
# Budgets that take about the same time on both kinds of kernel.
_BUDGET, _DEBUG_BUDGET = Budget(packets=400_000, flows=200), Budget(packets=60_000, flows=200)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    in_batches(metafunc, "--runs", _BATCH)


def in_batches(metafunc: pytest.Metafunc, option: str, most: int) -> None:
    """A test with `batch` and `size` once for each batch of the option's number, each from the next seed."""
    if "batch" in metafunc.fixturenames:
        count, first = int(metafunc.config.getoption(option)), int(metafunc.config.getoption("--from-seed"))
        sizes = [min(most, count - begin) for begin in range(0, count, most)]
        metafunc.parametrize(("batch", "size"), [(first + number, size) for number, size in enumerate(sizes)])


class Broken(Exception):
    """An experiment broke a rule; Longhaul itself never raises this."""


def test_drawn_experiments(lab: Lab, kernel: str, batch: int, size: int, known: ExampleDatabase | None) -> None:
    budget = _DEBUG_BUDGET if kernel in DEBUG_KERNELS else _BUDGET
    hold_all(lambda written: broken(lab, written), experiments(kernel, budget), f"{kernel}-{batch}", batch, size, known)


def hold_all(
    what_breaks: Callable[[Written], list[str]],
    drawn: st.SearchStrategy[Written],
    name: str,
    batch: int,
    size: int,
    known: ExampleDatabase | None,
) -> None:
    """Fail with the smallest experiment that breaks a rule; errors of Longhaul itself are raised unchanged."""
    last: dict[str, Any] = {}

    def hold(written: Written) -> None:
        last.update(written=written, broken=[])
        last["broken"] = what_breaks(written)
        if last["broken"]:
            raise Broken

    try:
        from_seed(batch)(_settings(size, known)(given(drawn)(hold)))()
    except Broken:
        # hypothesis tries the smallest failing experiment last.
        file = keep(f"{name}.yaml", last["written"], last["broken"])
        pytest.fail(f"{file}:\n{file.read_text()}", pytrace=False)


def _settings(size: int, known: ExampleDatabase | None) -> hypothesis_settings:
    return hypothesis_settings(
        max_examples=size,
        database=known,
        suppress_health_check=list(HealthCheck),
        report_multiple_bugs=False,
        print_blob=False,
    )


def broken(lab: Lab, written: Written) -> list[str]:
    """The rules that this experiment's run breaks."""
    try:
        run = lab.plan(written)
    except PlanError:
        assume(False)  # fields that do not go together
    try:
        return list(violations(lab.execute(run)))
    except LonghaulError as error:
        return [f"{type(error).__name__}: {error}"]


def keep(name: str, written: Written, broken: list[str]) -> Path:
    """Write the experiment to a file, below the rules that it broke."""
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / name
    comment = "".join(f"# {line}\n" for sentence in broken for line in sentence.splitlines())
    file.write_text(comment + yaml.dump(written, Dumper=_Plain, sort_keys=False, allow_unicode=True))
    return file


class _Plain(yaml.SafeDumper):
    """A dumper without anchors: repeated values are written out."""

    def ignore_aliases(self, data: object) -> bool:
        return True
