"""All runs of an experiment with their summary over the repeats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.plan.run import point_text
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.system.errors import PlanError, ResultsError
from longhaul.orchestrator.system.units import spell_number
from longhaul.results.document import Documented
from longhaul.results.run import Run
from longhaul.results.tables import FAILED, flow_rows, summary_rows, text_table

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.exploration.bands import Band
    from longhaul.orchestrator.analysis.exploration.importance import Importance
    from longhaul.orchestrator.analysis.objective import Objective
    from longhaul.orchestrator.plan.run_document import RunDocument
    from longhaul.results.frames import Library
    from longhaul.results.source import TraceSource

# A notebook draws up to this many runs, and shows more as a table.
_MOST_CHARTS = 3
# The table of more runs than this shows their summary.
_MOST_ROWS = 12

_NAMES = {measure.field: name for name, measure in MEASURES.items()}


class Result(Documented):
    """The runs of an experiment. Its keys are those of the document that `longhaul run --json` prints: experiment, runs, summary."""

    def __init__(self, document: Mapping[str, Any], source: TraceSource, notes: Sequence[str] = ()) -> None:
        super().__init__(document)
        self._source = source
        self.notes = tuple(notes)

    @property
    def experiment(self) -> str:
        """The name of the experiment."""
        return str(self["experiment"])

    @property
    def runs(self) -> list[Run]:
        """Its runs, in the order of its points and repeats."""
        return [Run(document, self._source) for document in self["runs"]]

    @property
    def summary(self) -> list[dict[str, Any]]:
        """A row for each point, flow and measure over the repeats: value, and the 95 % interval from low to high."""
        return list(self["summary"])

    @property
    def ok(self) -> bool:
        """Whether no run failed and every expectation holds."""
        return all(run.ok for run in self.runs)

    @property
    def failed(self) -> list[Run]:
        """The runs without numbers."""
        return [run for run in self.runs if run.status == FAILED]

    @property
    def points(self) -> list[dict[str, str]]:
        """The points of the sweep in order; one empty point without a sweep."""
        return list({point_text(run.point): run.point for run in self.runs}.values())

    @property
    def measures(self) -> dict[str, float]:
        """Every measure of the window over the repeats, by name, as in `goodput(app)`; for results with one point (see `at`)."""
        self._check_one_point("reading the measures of")
        return dict(self._measures())

    def at(self, point: str | Mapping[str, Any]) -> Result:
        """The runs at a point, or at every point that has these values: "rtt=80 ms, cc=bbr", or {"flows.scan.cc": "bbr"}.

        A field may be written without what it belongs to, if no other swept field ends in the same way.
        """
        wanted = self._wanted(point)
        runs = [run.document for run in self.runs if _has(run.point, wanted)]
        if not runs:
            known = "; ".join(point_text(one) or "the only point has no swept field" for one in self.points)
            raise PlanError(
                "looking for the point", str(point), f"{self.experiment} does not have this point", f"known: {known}"
            )
        return self.with_fields(runs=runs, summary=[row for row in self.summary if _has(row["point"], wanted)])

    def _wanted(self, point: str | Mapping[str, Any]) -> dict[str, str]:
        """The swept fields that are meant, with the texts of their values."""
        if isinstance(point, str):
            parts = [part.partition("=") for part in point.split(",") if part.strip()]
            point = {name.strip(): value for name, _, value in parts}
        fields = dict.fromkeys(field for one in self.points for field in one)
        found = {}
        for name, value in point.items():
            meant = [field for field in fields if field == name or field.endswith(f".{name}")]
            if len(meant) > 1:
                what = f"{len(meant)} swept fields end in {name}"
                raise PlanError("looking for the point", str(point), what, f"name one of {', '.join(meant)}")
            found[meant[0] if meant else name] = _plain(str(value))
        return found

    def with_fields(self, **fields: Any) -> Result:
        """A copy with some keys of the document changed or added."""
        return Result({**self.document, **fields}, self._source, self.notes)

    def importance(self, measure: str) -> Importance:
        """How much of the variance of a measure, as in "goodput(app)", each swept field explains; or of an expression of measures."""
        from longhaul.orchestrator.analysis.exploration.importance import importance
        from longhaul.orchestrator.analysis.objective import read_objective
        from longhaul.orchestrator.analysis.values import flow_names

        documents = [run.document for run in self.runs if run.has_numbers]
        wanted = read_objective(measure, list(dict.fromkeys(name for one in documents for name in flow_names(one))))
        return importance([one["point"] for one in documents], [_value(wanted, one) for one in documents])

    def band(self, measure: str, *, flow: str | None = None, link: str | None = None, **span: Any) -> Band:
        """The mean of a series over the repeats of one point (see `at`), with Student's 95 % band. `span` may have begin_s, end_s and points."""
        from longhaul.orchestrator.analysis.exploration.bands import band

        self._check_one_point("drawing the band of")
        repeats = [run.repeated() for run in self.runs if run.has_numbers]
        return band(repeats, measure, flow=flow, link=link, **span)

    def frame(self, kind: str = "measures", library: Library | None = None) -> Any:
        """The `measures` of all runs, or their records of a kind (acks, flows, links, drops, events, states).

        The first columns name the run of a row: its id, its seed and the swept fields. Without a library it is a
        table of the first that is installed: pandas, polars, pyarrow.
        """
        from longhaul.results.frames import MEASURES as ALL_MEASURES
        from longhaul.results.frames import as_frame, constant, joined, rows_table

        runs = [run for run in self.runs if run.has_numbers]
        if not runs:
            raise ResultsError("making a frame of", self.experiment, "none of its runs has numbers", "see .failed")
        if kind == ALL_MEASURES:
            rows = [_heads(run) | row for run in runs for row in run.measure_rows()]
            return as_frame(rows_table(rows), library)
        parts = []
        for run in runs:
            columns = run.columns(kind)
            length = len(columns["t_s"])
            parts.append({name: constant(value, length) for name, value in _heads(run).items()} | columns)
        return as_frame(joined(parts), library)

    def report(self, output: str | Path) -> Path:
        """Write a report of all runs that have numbers: .html, .svg or .png."""
        from longhaul.orchestrator.analysis.report.report import write_report

        output = Path(output)
        write_report([run.reported() for run in self.runs if run.has_numbers], output)
        return output

    def table(self) -> list[dict[str, str]]:
        """The rows that `longhaul run` prints: for each run, or over the repeats if there are many runs."""
        repeated = any(row["n"] > 1 for row in self.summary)
        return (
            summary_rows(self.summary)
            if self.summary and (repeated or len(self.runs) > _MOST_ROWS)
            else self.flow_table()
        )

    def flow_table(self) -> list[dict[str, str]]:
        """One row for each flow of each run."""
        return flow_rows(self.runs)

    def _check_one_point(self, attempting: str) -> None:
        if len(self.points) > 1:
            hint = "choose one with at(), or take frame('measures')"
            raise PlanError(attempting, self.experiment, f"it has {len(self.points)} points", hint)

    def _measures(self) -> Iterator[tuple[str, float]]:
        for row in self.summary:
            if row.get("phase") is None:
                name = _NAMES[row["measure"]]
                yield (f"{name}({row['flow']})" if row["flow"] else name), row["value"]

    def __str__(self) -> str:
        return "\n".join([text_table(self.table()), *(f"{run!r}: {run.error}" for run in self.failed)])

    def __repr__(self) -> str:
        return f"<Result {self.experiment}: {self._count()}>"

    def _count(self) -> str:
        ends = Counter(run.status for run in self.runs)
        counted = ", ".join(f"{count} {status}" for status, count in ends.items())
        return f"{ends.total()} run{'' if ends.total() == 1 else 's'}, {counted}"

    def _repr_html_(self) -> str:
        from longhaul.results.html import image_html, lines_html, table_html

        caption = f"{self.experiment}: {self._count()}"
        problems = [f"{run!r}: {run.error}" for run in self.failed]
        problems += [f"missed: {one['text']}" for run in self.runs for one in run.get("expect", []) if not one["ok"]]
        measured = [run for run in self.runs if run.has_numbers]
        charts = ""
        if len(measured) <= _MOST_CHARTS:
            title = "Windows, goodput, round trips and queue of run"
            charts = "".join(image_html(run.chart(), f"{title} {run.id}") for run in measured)
        return table_html(self.table(), caption) + lines_html([*self.notes, *problems[:_MOST_ROWS]]) + charts


def _heads(run: Run) -> dict[str, Any]:
    return {"run": run.id, "seed": run.seed} | run.point


def _value(wanted: Objective, document: RunDocument) -> float | None:
    """None where a measure has no value."""
    try:
        return wanted.value(document)
    except ValueError:
        return None


def _has(point: Mapping[str, str], wanted: Mapping[str, str]) -> bool:
    return all(field in point and _plain(point[field]) == value for field, value in wanted.items())


def _plain(value: str) -> str:
    """A value in one spelling: `80ms` is `80 ms`, and `1e-05` is `0.00001`."""
    return spell_number("".join(value.split()).lower())
