"""The first record in which two kept traces differ: found in files with groups of any length, and named."""

from __future__ import annotations

import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from longhaul.orchestrator.analysis.report.comparison_text import difference_cells, difference_line
from longhaul.orchestrator.analysis.trace_differences import TraceDifference, first_difference
from longhaul.orchestrator.results import traces
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.trace.records import EVENT_PATH_CHANGE, KIND_NUMBERS, TRACE_KINDS, Trace

PLAN = {"flows": [{"id": 0, "name": "app"}, {"id": 1, "name": "bulk"}], "links": [{"id": 0, "name": "bottleneck"}]}
A, B = "a" * 20, "b" * 20


def records(kind: str, rows: int, step_ns: int) -> Any:
    found = np.zeros(rows, TRACE_KINDS[kind])
    found["kind"], found["t_ns"] = KIND_NUMBERS[kind], np.arange(1, rows + 1) * step_ns
    return found


@pytest.fixture
def trace() -> Trace:
    """Half a million ACKs of two flows in 5 s, and some records of every other kind."""
    every = {kind: records(kind, 50, 100_000_000) for kind in TRACE_KINDS} | {"ack": records("ack", 500_000, 10_000)}
    every["ack"]["id"] = np.arange(500_000) % 2
    every["ack"]["cwnd"] = 10
    return Trace(*(every[kind] for kind in TRACE_KINDS))


def found_between(tmp_path: Path, a: Trace, b: Trace) -> TraceDifference | None:
    for name, trace in ((A, a), (B, b)):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
        (tmp_path / name).mkdir()
        traces.write_traces(tmp_path / name, trace)
    store = SimpleNamespace(trace_folder=lambda run: tmp_path / run, run_document=lambda run: PLAN)
    return first_difference(cast("Store", store), A, B)


def changed(trace: Trace, kind: str, at: int, **values: int) -> Trace:
    copies = {name: array.copy() for name, array in trace.kinds().items()}
    for name, value in values.items():
        copies[kind][name][at] = value
    return Trace(*copies.values())


def test_equal_traces_have_none(tmp_path: Path, trace: Trace) -> None:
    assert found_between(tmp_path, trace, changed(trace, "ack", 0)) is None


@pytest.mark.parametrize("at", [0, 131_071, 131_072, 400_001, 499_999])
def test_one_changed_number_is_found(tmp_path: Path, trace: Trace, at: int) -> None:
    found = found_between(tmp_path, trace, changed(trace, "ack", at, cwnd=11))
    assert found is not None
    assert (found.kind, found.of, found.record, found.fields) == ("ack", ("app", "bulk")[at % 2], at + 1, ["cwnd"])
    assert found.t_s == (at + 1) * 10_000 / 1e9
    assert found.a is not None and found.b is not None
    assert (found.a["cwnd"], found.b["cwnd"]) == (10, 11)
    assert difference_cells(found)[0] == {"field": "cwnd", "A": "10", "B": "11", "": "differs"}


def test_the_earliest_kind_counts_and_not_the_first(tmp_path: Path, trace: Trace) -> None:
    late = changed(trace, "ack", 400_000, cwnd=11)
    found = found_between(
        tmp_path, trace, changed(late, "event", 2, t_ns=250_000_001, what=EVENT_PATH_CHANGE, id=0xFFFF)
    )
    assert found is not None
    assert (found.kind, found.of, found.t_s) == ("event", "", 0.250000001)
    assert difference_line(found) == (
        f"the traces of {A} and {B} differ from 0.250000001 s on: an event (change of the path), after 2 equal ones"
    )


def test_a_record_that_only_one_side_has(tmp_path: Path, trace: Trace) -> None:
    fewer = Trace(**{name: getattr(trace, name) for name in Trace.__slots__} | {"drops": trace.drops[:20]})
    found = found_between(tmp_path, trace, fewer)
    assert found is not None
    assert (found.kind, found.of, found.record, found.b) == ("drop", "bottleneck", 21, None)
    assert difference_line(found).endswith(
        "differ from 2.1 s on: a drop of bottleneck that B does not have, after 20 equal ones"
    )
    assert found_between(tmp_path, fewer, trace) is not None


def test_files_with_groups_of_other_lengths_are_compared_record_by_record(
    tmp_path: Path, trace: Trace, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / A).mkdir()
    (tmp_path / B).mkdir()
    traces.write_traces(tmp_path / A, trace)
    monkeypatch.setattr(traces, "_GROUP_ROWS", 70_001)
    traces.write_traces(tmp_path / B, changed(trace, "ack", 300_000, rtt_us=1))
    store = cast("Store", SimpleNamespace(trace_folder=lambda run: tmp_path / run, run_document=lambda run: PLAN))
    found = first_difference(store, A, B)
    assert found is not None
    assert (found.record, found.fields) == (300_001, ["rtt_us"])
