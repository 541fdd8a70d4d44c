"""The rows that questions are asked about, from the database and the manifests of kept runs, a few in memory at a time.

    runs      one a run       its experiment, path, swept fields, and measures of the path and the run
    results   one a flow      its congestion control and measures
    measures  one a number    the same numbers, one below the other
    sweeps    one a submitted experiment
    points    one a flow of each run of a sweep: the swept fields, and the measures of the flow and the path

A measure with parts has a column for each: `rtt_ms_p99`.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.analysis.query.swept_fields import SweptField, swept_fields
from longhaul.orchestrator.database.kept_rows import KeptRow, KeptRows, Sweep
from longhaul.orchestrator.plan.run_document import FlowNumbers, PathNumbers, RunNumbers
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import RunDamaged
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import parse_share

Row = Mapping[str, Any]

TEXT, NUMBER, WHOLE, TIME, YES_NO = "VARCHAR", "DOUBLE", "BIGINT", "TIMESTAMP", "BOOLEAN"
TEXTS, MAP = "VARCHAR[]", "MAP(VARCHAR, VARCHAR)"


def _numbers_of(document: Any, prefix: str = "") -> dict[str, str]:
    """The columns of the numbers of a part of a run's document, by its type."""
    found: dict[str, str] = {}
    for name, kind in typing.get_type_hints(document).items():
        kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
        for one in kinds:
            if one in (int, float):
                found[f"{prefix}{name}"] = NUMBER
            elif typing.is_typeddict(one):
                found |= _numbers_of(one, f"{prefix}{name}_")
    return found


OF_FLOW, OF_PATH = _numbers_of(FlowNumbers), _numbers_of(PathNumbers)
OF_RUN = {name: kind for name, kind in _numbers_of(RunNumbers).items() if not name.startswith("path_")}
RUN = {
    "run": TEXT, "experiment": TEXT, "status": TEXT, "backend": TEXT, "kernel": TEXT, "seed": WHOLE, "owner": TEXT, "pinned": YES_NO,
    "created_at": TIME, "virtual_s": NUMBER, "wall_s": NUMBER, "topology": TEXT, "bandwidth_bps": WHOLE, "rtt_us": WHOLE, "controls": TEXTS,
    "point": MAP,
}  # fmt: skip
# Of the experiment, with the value of the point where it is swept; a damaged manifest leaves them empty.
WRITTEN = {"buffer": TEXT, "queue": TEXT, "loss_share": NUMBER, "ecn": TEXT, "mtu": WHOLE, "duration": TEXT}
_FLOW = {"flow": TEXT, "kind": TEXT, "cc": TEXT, "variant": TEXT}
RESULT = {"run": TEXT, **_FLOW}
MEASURES_COLUMNS = {"run": TEXT, "flow": TEXT, "measure": TEXT, "value": NUMBER}
SWEEP = {
    "sweep": TEXT, "name": TEXT, "about": TEXT, "owner": TEXT, "status": TEXT, "created_at": TIME, "finished_at": TIME, "total": WHOLE,
    "done": WHOLE, "missed": WHOLE, "failed": WHOLE, "cancelled": WHOLE,
}  # fmt: skip
_NAMES = {"run": TEXT, "id": WHOLE, "name": TEXT}
FLOW_NAMES, LINK_NAMES = "flow_names", "link_names"


@dataclass(frozen=True)
class Table:
    """The columns of a table with their types in SQL, and its rows as values by name; a row may lack some."""

    columns: Mapping[str, str]
    rows: Callable[[], Iterator[Row]]


class Tables:
    """The tables of one home: of all its kept runs, or of those of one sweep."""

    def __init__(self, store: Store, sweep: str | None = None) -> None:
        self._store = store
        self._kept = KeptRows(store.database)
        self.sweep: Sweep | None = None if sweep is None else self._kept.sweep(sweep)

    def run_ids(self) -> list[str]:
        """The runs, in the order of their sweep."""
        return self._kept.ids(self.sweep)

    def named(self, name: str, columns: set[str] | None = None) -> Table:
        """A table of `TABLES`; without `columns` all of them are needed."""
        return self._runs(columns) if name == "runs" else TABLES[name](self)

    def _runs(self, columns: set[str] | None) -> Table:
        """Manifests are read only for columns that need them."""
        written = columns is None or bool(columns & WRITTEN.keys())

        def rows() -> Iterator[Row]:
            for kept in self._all():
                numbers = {**flat(kept.document.get("path", {})), **_of_run(kept)}
                yield {**_head(kept), **(self._written(kept) if written else {}), **numbers}

        return Table({**RUN, **WRITTEN, **OF_PATH, **OF_RUN}, rows)

    def _results(self) -> Table:
        def rows() -> Iterator[Row]:
            for kept in self._all():
                for row in _flows(kept):
                    yield {"run": kept.id, **row}

        return Table({**RESULT, **OF_FLOW}, rows)

    def _measures(self) -> Table:
        def rows() -> Iterator[Row]:
            for kept in self._all():
                parts: list[tuple[str | None, dict[str, float]]] = [
                    (flow["name"], flat(flow))
                    for flow in (*kept.document.get("flows", ()), *kept.document.get("totals", ()))
                ]
                parts.append((None, {**flat(kept.document.get("path", {})), **_of_run(kept)}))
                for flow, numbers in parts:
                    for name, value in numbers.items():
                        yield {"run": kept.id, "flow": flow, "measure": name, "value": value}

        return Table(MEASURES_COLUMNS, rows)

    def _sweeps(self) -> Table:
        return Table(SWEEP, lambda: self._kept.sweeps(self.sweep))

    def points(self) -> Table:
        """The runs of the sweep, a row for each flow; without one, every run that is a point of a sweep."""
        fixed = {"experiment": TEXT, "run": TEXT, "status": TEXT, "seed": WHOLE}
        of_path = {f"path_{name}": kind for name, kind in OF_PATH.items()}
        fields = swept_fields(self._kept.points(self.sweep), {*fixed, *_FLOW, *OF_FLOW, *of_path})
        swept = {name: kind for field in fields for name, kind in field.columns.items()}
        return Table({**fixed, **swept, **_FLOW, **OF_FLOW, **of_path}, lambda: self._point_rows(fields))

    def _point_rows(self, fields: Sequence[SweptField]) -> Iterator[Row]:
        for kept in self._all():
            if self.sweep is None and not kept.point:
                continue
            head = {
                name: value for name, value in _head(kept).items() if name in ("experiment", "run", "status", "seed")
            }
            for field in fields:
                head |= field.values(kept.point)
            path = {f"path_{name}": value for name, value in flat(kept.document.get("path", {})).items()}
            for row in _flows(kept):
                yield {**head, **row, **path}

    def _flow_names(self) -> Table:
        return Table(_NAMES, lambda: self._names("flows"))

    def _link_names(self) -> Table:
        return Table(_NAMES, lambda: self._names("links"))

    def _names(self, part: str) -> Iterator[Row]:
        """The names of flows or links by their numbers in records."""
        for kept in self._all():
            document: Mapping[str, Any] = kept.document
            for number, one in enumerate(document.get(part, ())):
                yield {"run": kept.id, "id": number, "name": one["name"]}

    def _all(self) -> Iterator[KeptRow]:
        return self._kept.rows(self.sweep)

    def _written(self, kept: KeptRow) -> Row:
        try:
            spec = self._store.manifest(kept.id)["spec"]
        except RunDamaged:
            return {}
        swept = {name.removeprefix("path."): value for name, value in kept.point.items()}
        path = {**(spec.get("path") or {}), **swept}
        mtu, loss, ecn = (path.get(name) for name in ("mtu", "loss", "ecn"))
        return {
            "buffer": path.get("buffer"),
            "queue": path.get("queue"),
            "loss_share": parse_share(loss or 0),
            "ecn": ("off", "on")[ecn] if isinstance(ecn, bool) else ecn,
            "mtu": None if mtu is None else int(mtu),
            "duration": path.get("duration", spec.get("duration")),
        }


TABLES: Mapping[str, Callable[[Tables], Table]] = {
    "runs": lambda tables: tables.named("runs"),
    "results": Tables._results,
    "measures": Tables._measures,
    "sweeps": Tables._sweeps,
    "points": Tables.points,
    FLOW_NAMES: Tables._flow_names,
    LINK_NAMES: Tables._link_names,
}


def _head(kept: KeptRow) -> dict[str, Any]:
    columns = kept.columns
    found = {name: columns[name] for name in RUN if name in columns}
    at = columns["created_at"].removesuffix("+00:00")
    return {
        **found,
        "run": kept.id,
        "created_at": at,
        "controls": columns["controls"].split(),
        "point": dict(kept.point),
    }


def _flows(kept: KeptRow) -> Iterator[dict[str, Any]]:
    for flow in kept.document.get("flows", ()):
        yield {"flow": flow["name"], "kind": flow["kind"], "cc": flow["cc"], "variant": flow["variant"], **flat(flow)}


def _of_run(kept: KeptRow) -> dict[str, float]:
    document: Mapping[str, Any] = kept.document
    return flat({name: document[name] for name in OF_RUN if name in document})


def flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a part of a document, by the names of columns."""
    found: dict[str, float] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{prefix}{name}_")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found[f"{prefix}{name}"] = float(value)
    return found
