"""Fidelity checks accept right runs and refuse wrong ones, with a limit on the errors of both kinds.

    right   `--right` experiments that a person would write (realistic.py): at most 5 of 1,000 may be refused after they ran
    wrong   `--wrong` runs whose guest got another plan than the one that they are judged by (tampering.py): none may pass

Wrongly judged experiments are kept under build/fuzz, as files that `longhaul run` accepts.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import numpy as np
import pytest

from longhaul.orchestrator.analysis.fidelity.checks import broken_text, check_fidelity
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import LonghaulError, PlanError
from longhaul.orchestrator.system.settings import Settings
from tests.fuzz.lab import Finished, Lab
from tests.fuzz.realistic import Written, realistic
from tests.fuzz.tampering import KINDS, agent_with_offloads, tampered
from tests.fuzz.test_fuzz import keep

_REFUSED_OF_1000 = 5
# The least share of the made-up experiments that must be valid.
_LEAST_VALID = 0.97
# The least share of wrong plans that must run; guests refuse the others.
_LEAST_COMPLETED = 0.9
_OFFLOADS = "offloads"
# Found by longer runs of these tests, each with a different cause: a hole in the sequence that fills the buffers, by the kernel's
# clocks or by the trace, with SACK and without; an iperf3 that waits for its server.
_ONCE_REFUSED = (43, 306, 375, 688, 890, 982, 200_955)


def _option(request: pytest.FixtureRequest, name: str) -> int:
    return int(request.config.getoption(name))


@pytest.fixture(scope="session")
def first(request: pytest.FixtureRequest) -> int:
    """Each `--from-seed` has its own experiments."""
    return (_option(request, "--from-seed") - 1) * 100_000


@pytest.fixture(scope="session")
def right(request: pytest.FixtureRequest) -> int:
    return _option(request, "--right")


@pytest.fixture(scope="session")
def wrong(request: pytest.FixtureRequest) -> int:
    return _option(request, "--wrong")


def _side_by_side(work: Callable[[int], str | None], numbers: Iterable[int]) -> list[str]:
    """The non-empty results of concurrent work; guests are separate processes."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return [result for result in pool.map(work, numbers) if result]


def test_right_runs_are_believed(lab: Lab, kernel: str, first: int, right: int) -> None:
    invalid: list[str] = []

    def refused(number: int) -> str | None:
        written = realistic(number, kernel)
        try:
            run = lab.plan(written)
        except PlanError as error:
            invalid.append(f"{number}: {error}")
            return None
        why = _why_refused(lambda: lab.execute(run), run)
        return f"{_kept(f'right-{number}', written, why)}: {why}" if why else None

    found = _side_by_side(refused, range(first, first + right))
    assert len(invalid) <= (1 - _LEAST_VALID) * right + 1, invalid
    print(f"{len(found)} of {right - len(invalid)} right runs refused")
    assert len(found) <= right * _REFUSED_OF_1000 // 1000, "\n".join(found)


def test_once_refused_runs_are_believed(lab: Lab, kernel: str) -> None:
    def refused(number: int) -> str | None:
        run = lab.plan(realistic(number, kernel))
        why = _why_refused(lambda: lab.execute(run), run)
        return f"{number}: {why}" if why else None

    assert not _side_by_side(refused, _ONCE_REFUSED)


def _why_refused(execute: Callable[[], Finished], judged_by: Run) -> str:
    """The checks that a run breaks, or the error that ended it; empty for an accepted run."""
    try:
        done = execute()
    except LonghaulError as error:
        return f"{type(error).__name__}: {error}"
    return broken_text(check_fidelity(judged_by, done.trace, done.facts))


def _kept(name: str, written: Written, why: str) -> Path:
    return keep(f"{name}.yaml", written, [why])


def test_wrong_runs_are_not(
    lab: Lab, settings: Settings, kernel: str, first: int, wrong: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lying = Lab(replace(settings, agent=agent_with_offloads(tmp_path_factory.mktemp("agent"))))
    labs, kinds = {_OFFLOADS: lying}, [*KINDS, _OFFLOADS]
    completed: Counter[str] = Counter()

    def believed(number: int, kind: str, run: Run, other: Run, written: Written) -> str | None:
        def execute() -> Finished:
            done = labs.get(kind, lab).execute(other)
            completed[kind] += 1
            return done

        if _why_refused(execute, run) or (kind == _OFFLOADS and _same_run(lab, lying, run)):
            return None
        return f"{kind}: {_kept(f'wrong-{kind}-{number}', written, f'{kind} changed, and believed')}"

    cases = list(islice(_wrong_cases(lab, kernel, first, kinds), wrong))
    found = _side_by_side(lambda place: believed(*cases[place]), range(len(cases)))
    print(f"{len(found)} of {len(cases)} wrong runs believed; completed: {dict(completed)}")
    assert completed.total() >= _LEAST_COMPLETED * len(cases), completed
    assert not found, "\n".join(found)


def _same_run(lab: Lab, lying: Lab, run: Run) -> bool:
    """Whether the run never had a merged packet: then nothing was wrong."""
    honest, other = lab.execute(run).trace, lying.execute(run).trace
    return all(np.array_equal(records, other.kinds()[kind]) for kind, records in honest.kinds().items())


def _wrong_cases(lab: Lab, kernel: str, first: int, kinds: list[str]) -> Iterable[tuple[int, str, Run, Run, Written]]:
    """One kind after the other, each on the next experiment that it can change."""
    numbers = count(first)
    while True:
        for kind in kinds:
            yield next(case for case in (_wrong_case(lab, next(numbers), kind, kernel) for _ in count()) if case)


def _wrong_case(lab: Lab, number: int, kind: str, kernel: str) -> tuple[int, str, Run, Run, Written] | None:
    written = realistic(number, kernel)
    try:
        run = lab.plan(written)
    except PlanError:
        return None
    if kind != _OFFLOADS:
        other = tampered(run, kind, number)
        return (number, kind, run, other, written) if other is not None else None
    # Offloads only matter to a flow that sends several segments at once.
    bulk = any(flow.kind == "tcp" and flow.bytes is None and not flow.options.window_clamp_bytes for flow in run.flows)
    return (number, kind, run, run, written) if bulk else None
