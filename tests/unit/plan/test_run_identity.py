"""A program that makes the same traces as an earlier one leaves the ids of runs as they are."""

from __future__ import annotations

import pytest

from longhaul.orchestrator.execution.other_programs import programs_of_other_traces
from longhaul.orchestrator.plan import run_identity
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_identity import SAME_PROGRAMS, run_id
from longhaul.orchestrator.spec.load import load_experiment


def test_programs_of_the_same_traces_give_the_same_id(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_identity, "SAME_PROGRAMS", {"second": "first"})
    (run,) = compile_plan(load_experiment("quick")).runs
    first, second, other = ({"kernel": "k", "agent": name} for name in ("first", "second", "other"))
    assert run_id(run, first) == run_id(run, second) != run_id(run, other)
    assert programs_of_other_traces(first, second) == programs_of_other_traces(second, first) == []
    assert programs_of_other_traces(second, other) == ["agent: second then, other now"]


def test_each_row_leads_to_the_earliest_program() -> None:
    assert not set(SAME_PROGRAMS) & set(SAME_PROGRAMS.values())
    # Files, and kernels with all that they are built from.
    assert all(len(name) in (64, 32) and len(name) == len(SAME_PROGRAMS[name]) for name in SAME_PROGRAMS)
