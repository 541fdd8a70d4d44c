"""Recorded run directories, and small runs made of numbers with known results."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.fidelity.checks import check_fidelity
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.trace.records import KIND_NUMBERS, TRACE_KINDS, Records, Trace, read_trace
from tests.support.folders import DATA

RUNS = DATA / "runs"


def recorded(name: str) -> tuple[Run, Trace, dict[str, Any]]:
    """A recorded run of a real guest."""
    folder = RUNS / name
    run = Run.from_json(json.loads((folder / "run.json").read_text()))
    return run, read_trace(folder / "trace.bin"), json.loads((folder / "facts.json").read_text())


def failed_checks(run: Run, trace: Trace, facts: dict[str, Any]) -> set[str]:
    """The names of the fidelity checks that fail."""
    return {check.name for check in check_fidelity(run, trace, facts) if not check.ok}


def plain_run(**changes: Any) -> Run:
    """Ten seconds of two flows on 8 Mbit/s."""
    written: dict[str, Any] = {
        "experiment": "made",
        "path": {"bandwidth": "8 Mbit/s", "rtt": "40 ms"},
        "flows": [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "reno"}],
        "duration": "10 s",
        "start_jitter": "0 s",
    }
    return compile_plan(parse_experiment(written | changes)).runs[0]


def records(kind: str, rows: list[dict[str, int]]) -> Records:
    """Records of one kind."""
    made = np.zeros(len(rows), TRACE_KINDS[kind])
    made["kind"] = KIND_NUMBERS[kind]
    for place, row in enumerate(rows):
        for name, value in row.items():
            made[name][place] = value
    return made


def trace_of(**kinds: list[dict[str, int]]) -> Trace:
    """A trace of the given records; kinds that are not given are empty."""
    made = {kind: records(kind, kinds.get(kind, [])) for kind in TRACE_KINDS}
    return Trace(*(made[kind] for kind in TRACE_KINDS))


def steady(flow: int, bytes_per_s: int, begin_s: float = 0.0, end_s: float = 10.0) -> list[dict[str, int]]:
    """FLOW records of a receiver that gets so many bytes each second, every 10 ms."""
    ticks = range(round(begin_s * 100), round(end_s * 100) + 1)
    return [
        {"t_ns": tick * 10_000_000, "id": flow, "app_bytes": (tick - ticks.start) * bytes_per_s // 100}
        for tick in ticks
    ]
