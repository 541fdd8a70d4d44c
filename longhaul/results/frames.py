"""Columns of numbers as a table of pandas, polars or pyarrow.

pyarrow is an extra of Longhaul (`longhaul[frames]`) and needed for all three.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import PlanError, nearest
from longhaul.orchestrator.system.extras import need
from longhaul.orchestrator.trace.records import TRACE_KINDS, Records

try:
    import pyarrow as pa
except ImportError:
    need("frames")
    raise

Library = Literal["pandas", "polars", "pyarrow"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars", "pyarrow")
MEASURES = "measures"

# The kinds of frames: name -> the kind of the trace's records.
RECORD_FRAMES = {f"{kind}s": kind for kind in TRACE_KINDS}

Columns = Mapping[str, Any]


def kind_of(name: str) -> str:
    """The kind of records that a frame of this name holds; PlanError."""
    if name not in RECORD_FRAMES:
        known = [MEASURES, *RECORD_FRAMES]
        raise PlanError(
            "making a frame of", name, "this frame does not exist", f"known: {', '.join(known)}{nearest(name, known)}"
        )
    return RECORD_FRAMES[name]


def record_columns(kind: str, records: Records, run: Run) -> dict[str, Any]:
    """The fields of records of one kind: time in seconds and nanoseconds, the name of the flow or link, then the recorded fields."""
    columns: dict[str, Any] = {"t_s": records["t_ns"] / 1e9, "t_ns": records["t_ns"]}
    if kind in ("ack", "flow", "state"):
        columns["flow"] = _names(records["id"], {flow.id: flow.name for flow in run.flows})
    elif kind in ("link", "drop", "departure"):
        columns["link"] = _names(records["id"], {link.id: link.name for link in run.links})
    else:
        columns["id"] = records["id"]
    fields = (name for name in records.dtype.names or () if name not in ("t_ns", "kind", "id"))
    return columns | {name: np.ascontiguousarray(records[name]) for name in fields}


def joined(parts: Sequence[Columns]) -> Any:
    """The columns of several runs one after the other, as a table of pyarrow."""
    return pa.concat_tables([pa.table(dict(part)) for part in parts], promote_options="default")


def rows_table(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Rows as a table of pyarrow, with every column that a row has."""
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [row.get(name) for row in rows] for name in names})


def as_frame(table: Any, library: Library | None) -> Any:
    """The table in a library's own type; by default the first that is installed: pandas, polars, pyarrow."""
    chosen = library or next(name for name in LIBRARIES if find_spec(name) is not None)
    if chosen not in LIBRARIES:
        raise PlanError(
            "making a frame of", str(chosen), "this library is not supported", f"known: {', '.join(LIBRARIES)}"
        )
    if chosen == "pyarrow":
        return table
    try:
        module = importlib.import_module(chosen)
    except ImportError as error:
        hint = f"run `pip install {chosen}`, or use library='pyarrow'"
        raise PlanError("making a frame of", chosen, "it is not installed", hint) from error
    return module.from_arrow(table) if chosen == "polars" else table.to_pandas()


def constant(value: Any, length: int) -> Any:
    """A column with the same value in every row."""
    text = pa.array([value] if length else [], pa.string() if isinstance(value, str) else None)
    return (
        pa.DictionaryArray.from_arrays(np.zeros(length, np.int32), text) if isinstance(value, str) else [value] * length
    )


def _names(numbers: NDArray[Any], names: Mapping[int, str]) -> Any:
    """The names of flows or links instead of their numbers."""
    found, positions = np.unique(numbers, return_inverse=True)
    known = pa.array([names.get(int(number)) for number in found], pa.string())
    return pa.DictionaryArray.from_arrays(positions.astype(np.int32), known)
