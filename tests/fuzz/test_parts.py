"""A run in several guests has the trace of the same run in one: every record of drawn experiments, and the counters of every flow.

`--parts` says how many experiments. Where random losses are drawn after the wire, the acknowledgements alone are the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import assume
from hypothesis.database import ExampleDatabase

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import LonghaulError, PlanError
from tests.fuzz.experiments import Budget, Written, experiments
from tests.fuzz.lab import Finished, Lab
from tests.fuzz.test_fuzz import hold_all, in_batches

_BATCH = 20
_BUDGET = Budget(packets=60_000, flows=40)
_MOST = 3


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    in_batches(metafunc, "--parts", _BATCH)


def test_parts_have_the_trace_of_one_guest(
    lab: Lab, kernel: str, batch: int, size: int, known: ExampleDatabase | None
) -> None:
    hold_all(
        lambda written: differences(lab, written),
        experiments(kernel, _BUDGET),
        f"parts-{kernel}-{batch}",
        batch,
        size,
        known,
    )


def differences(lab: Lab, written: Written) -> list[str]:
    """In which records the experiment in several guests differs from the one in a single guest."""
    try:
        whole = lab.plan(written | {"parts": 1})
    except PlanError:
        assume(False)  # fields that do not go together
    cut = list(_cut(lab, written))
    assume(cut)
    try:
        one = lab.execute(whole)
        return [text for run in cut for text in _compare(one, lab.execute(run))]
    except LonghaulError as error:
        return [f"{type(error).__name__}: {error}"]


def _cut(lab: Lab, written: Written) -> Iterator[Run]:
    for parts in range(2, _MOST + 1):
        try:
            yield lab.plan(written | {"parts": parts})
        except PlanError:
            return


def _compare(one: Finished, several: Finished) -> Iterator[str]:
    parts = several.run.parts
    assert parts is not None
    for kind, records in one.trace.kinds().items():
        if parts.alters and kind not in ("ack", "state"):
            continue
        others = several.trace.kinds()[kind]
        least = min(len(records), len(others))
        unequal = np.flatnonzero(records[:least] != others[:least])
        if len(unequal):
            first = int(unequal[0])
            yield f"{parts.number} parts: {kind} {first}: {records[first]}, in parts {others[first]}"
        elif len(records) != len(others):
            yield f"{parts.number} parts: {len(records)} of kind {kind}, in parts {len(others)}"
    if not parts.alters:
        for fact, other in zip(one.facts["flows"], several.facts["flows"], strict=True):
            unlike = {name: (fact[name], other[name]) for name in fact if fact[name] != other[name]}
            if unlike:
                yield f"{parts.number} parts: {fact['name']}: {unlike}"
