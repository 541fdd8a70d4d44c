"""The input of charts, and their output."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence

from longhaul.orchestrator.analysis.aggregate import by_point
from longhaul.orchestrator.papers.claims import Claim, Selector, ValueClaim, selects
from longhaul.orchestrator.papers.figure_specs import Measure
from longhaul.orchestrator.papers.readings import Reading, Unreadable, is_about, read_point
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.parquet import encode_cells
from longhaul.orchestrator.spec.amounts import read_amount
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import Trace

Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Measured:
    """The results of an experiment: documents, the aggregate of repeats, the text of `longhaul plan`, and the kept runs."""

    documents: Sequence[RunDocument]
    aggregate: str
    plan: str
    kept: Callable[[RunDocument], tuple[Run, Trace]]


@dataclass(frozen=True, slots=True)
class Table:
    """The numbers of a chart, in the units of the document of a run."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def as_csv(self) -> str:
        """Comma-separated values, the names first."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        lines.writerow(self.columns)
        lines.writerows([repr(cell) if isinstance(cell, float) else cell for cell in row] for row in self.rows)
        return text.getvalue()

    def as_parquet(self) -> bytes:
        """The same as a Parquet file."""
        return encode_cells(self.columns, self.rows)


@dataclass(frozen=True, slots=True)
class Plate:
    """One SVG element; `width_px` is the least legible width."""

    svg: str
    width_px: int
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart: its plates side by side, and their numbers; a wide one needs its own row."""

    plates: Sequence[Plate]
    table: Table
    wide: bool = False


def readings(measured: Measured, at: Selector, read: Measure) -> list[Reading]:
    """The measured value at each selected point, in the order of the sweep; points without a value are left out."""
    found = []
    for group in by_point(document for document in measured.documents if selects(at, document["point"])):
        try:
            found.append(read_point(group, read.measure, read.flow, measured.aggregate, read.phase))
        except Unreadable:
            continue
    return found


def published_value(claims: Sequence[Claim], read: Measure, point: Mapping[str, str]) -> float | None:
    """The number that a claim states for the measure at a point, in the measure's unit."""
    for claim in claims:
        if (
            isinstance(claim, ValueClaim)
            and claim.of is not None
            and (claim.measure, claim.flow, claim.phase) == (read.measure, read.flow, read.phase)
            and claim.contrast is None
            and is_about(claim, point)
        ):
            return read_amount(claim.measure, claim.of)
    return None


def scale_of(measure: str) -> float:
    """The factor from values of a measure to drawn values."""
    return 1e-6 if MEASURES[measure].quantity == "rate" else 1.0
