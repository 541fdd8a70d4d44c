"""The first record in which the traces of two kept runs differ, with both sides of it.

    the files of two runs, kind by kind, a group of rows at a time --> the first difference of each kind --> the earliest of these

A trace has an order within each kind, and between kinds only by time. Two flows whose records are written at the same nanosecond are in
the order of the kernel's work, which is part of a run: another order is a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.compare import Comparison
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.results.traces import read_in_groups
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVENT_FLOW_CHANGE, EVENT_PATH_CHANGE, RECORD_BYTES, TRACE_KINDS, Records

# Kinds whose id is that of a link; others have that of a flow.
_OF_LINKS = ("link", "drop")
_NANOSECONDS = 1e9

Record = Mapping[str, int]


@dataclass(frozen=True, slots=True)
class TraceDifference:
    """The first difference of a pair of runs: record number `record` of its kind, counted from 1, about a flow or a link.

    Before it, all records of this kind are the same, and all of other kinds at an earlier time. A side without it has None: its trace
    has no more records of this kind.
    """

    run_a: str
    run_b: str
    t_s: float
    kind: str
    of: str
    record: int
    a: Record | None
    b: Record | None

    def as_dict(self) -> dict[str, Any]:
        """The difference as plain data."""
        return asdict(self)

    @property
    def earlier(self) -> Record:
        """The side whose record is earlier; A's if both are of the same time."""
        return _earlier(self.a, self.b)

    @property
    def fields(self) -> list[str]:
        """The names of the fields that differ; of a record that one side lacks, all."""
        return [name for name in self.earlier if self.a is None or self.b is None or self.a[name] != self.b[name]]


def trace_differences(comparison: Comparison, store: Store) -> list[TraceDifference]:
    """The first difference of each pair whose traces differ, in the order of the pairs. Failed runs have no traces."""
    pairs = [
        (first, second)
        for first, second in comparison.pairing.pairs
        if "failed" not in (first["status"], second["status"])
    ]
    found = (first_difference(store, first["run"], second["run"]) for first, second in pairs)
    return [one for one in found if one is not None]


def first_difference(store: Store, run_a: str, run_b: str) -> TraceDifference | None:
    """The first difference between the traces of two kept runs; None if they are identical."""
    folder_a, folder_b = store.trace_folder(run_a), store.trace_folder(run_b)
    found = [(kind, one) for kind in TRACE_KINDS if (one := _of_kind(folder_a, folder_b, kind))]
    if not found:
        return None
    kind, (number, a, b) = min(found, key=lambda one: _earlier(one[1][1], one[1][2])["t_ns"])
    first = _earlier(a, b)
    plan = store.run_document(run_a if first is a else run_b) or {}
    return TraceDifference(run_a, run_b, first["t_ns"] / _NANOSECONDS, kind, _name(plan, kind, first), number, a, b)


def _of_kind(a: Path, b: Path, kind: str) -> tuple[int, Record | None, Record | None] | None:
    """The number of the first record that differs, and the record on both sides."""
    first = 1
    for ours, theirs in _side_by_side(read_in_groups(a, kind), read_in_groups(b, kind)):
        if not len(ours) or not len(theirs):
            return first, _record(ours), _record(theirs)
        differ = (_bytes(ours) != _bytes(theirs)).any(axis=1)
        if differ.any():
            at = int(differ.argmax())
            return first + at, _record(ours[at:]), _record(theirs[at:])
        first += len(ours)
    return None


def _side_by_side(a: Iterator[Records], b: Iterator[Records]) -> Iterator[tuple[Records, Records]]:
    """Pieces of the same length of both, whatever the lengths of their groups; at last those that only one of them has."""
    ours, theirs = next(a, None), next(b, None)
    while ours is not None and theirs is not None:
        length = min(len(ours), len(theirs))
        if length:
            yield ours[:length], theirs[:length]
        ours, theirs = ours[length:], theirs[length:]
        ours = ours if len(ours) else next(a, None)
        theirs = theirs if len(theirs) else next(b, None)
    if (left := ours if ours is not None else theirs) is not None and len(left):
        yield (left, left[:0]) if ours is not None else (left[:0], left)


def _bytes(records: Records) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.ascontiguousarray(records).view(np.uint8).reshape(-1, RECORD_BYTES)


def _record(records: Records) -> Record | None:
    if not len(records):
        return None
    return {name: int(records[name][0]) for name in records.dtype.names or () if name != "kind"}


def _earlier(a: Record | None, b: Record | None) -> Record:
    return min((one for one in (a, b) if one is not None), key=lambda one: one["t_ns"])


def _name(plan: Mapping[str, Any], kind: str, record: Record) -> str:
    """The name of the flow or link of a record; "" if it is of neither."""
    if kind == "event" and record["what"] in (EVENT_PATH_CHANGE, EVENT_FLOW_CHANGE):
        return ""
    listed = plan.get("links" if kind in _OF_LINKS else "flows", [])
    return next((str(one["name"]) for one in listed if one["id"] == record["id"]), "")
