"""The part of the benchmark about estimates: time and memory of drawn experiments before they run, and as measured.

The draws are those of the fuzz that a person would write (tests/fuzz/realistic.py). Others than those that are judged run first, so that
the pace of this machine is known, as after a day of use. Time is the guest's processor time, the least of a few repeats.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.cost import guest_estimate_s, memory_estimate_mb
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.pace import note_run, pace
from longhaul.orchestrator.system.settings import load_settings
from tests.bench.cases import Bench, Row
from tests.bench.longhaul_side import BenchError
from tests.fuzz.realistic import realistic

_BEFORE, _JUDGED, _QUICK = 40, 100, 30
# The first number that is judged: the constants of the estimate come from draws below 200.
_FIRST = 1000
_WITHIN, _SHARE = 0.3, 0.95


@dataclass(frozen=True, slots=True)
class _Judged:
    number: int
    time: float
    memory: float


def estimates(bench: Bench) -> Iterator[Row]:
    """The share of experiments whose estimate is within 30 % of the measurement, for time and for memory."""
    backend = Sandbox(load_settings())
    for number in range(_BEFORE):
        run = _plan(number)
        note_run(guest_estimate_s(run), _measure(backend, run, 1)[0])
    now = pace()
    many = _QUICK if bench.quick else _JUDGED
    judged = []
    for number in range(_FIRST, _FIRST + many):
        run = _plan(number)
        cpu_s, used_mb = _measure(backend, run, 2)
        judged.append(_Judged(number, now * guest_estimate_s(run) / cpu_s, memory_estimate_mb(run) / used_mb))
    yield _row("time", {one.number: one.time for one in judged}, f"pace {now:.2f}")
    yield _row("memory", {one.number: one.memory for one in judged}, "the most that a guest held")


def _row(what: str, ratios: Mapping[int, float], note: str) -> Row:
    good = sum(abs(ratio - 1) <= _WITHIN for ratio in ratios.values())
    details: dict[str, Any] = {"ratios": {str(number): round(ratio, 3) for number, ratio in ratios.items()}}
    case = f"{what}, {len(ratios)} draws, within {_WITHIN:.0%}"
    return Row("estimates", case, "share", good / len(ratios), at_least=_SHARE, note=note, details=details)


def _plan(number: int) -> Run:
    (run,) = compile_plan(parse_experiment(realistic(number), f"realistic {number}")).runs
    return run


def _measure(backend: Sandbox, run: Run, repeats: int) -> tuple[float, float]:
    """Processor time in seconds and memory in MB of the run's guest; the least of the repeats."""
    found = []
    for _ in range(repeats):
        with TemporaryDirectory(prefix="longhaul-bench-") as folder:
            directory = Path(folder)
            (directory / "run.json").write_text(json.dumps(run.as_json()))
            try:
                cost = backend.run(run, directory, lambda virtual_ns: None)
            except LonghaulError as error:
                raise BenchError(f"{run.title}: {error}") from error
            found.append((cost.cpu_s, cost.max_rss_kb / 1024))
    return min(found)
