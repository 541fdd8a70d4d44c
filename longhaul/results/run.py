"""An ended run: document, measures, series over time, chart."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from longhaul.orchestrator.plan.run import point_text
from longhaul.orchestrator.system.errors import ResultsError, sentence
from longhaul.results.document import Documented
from longhaul.results.tables import flow_rows, text_table

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.exploration.control_states import ControlStates
    from longhaul.orchestrator.analysis.exploration.occupancy import Occupancy
    from longhaul.orchestrator.analysis.exploration.phase import Phase
    from longhaul.orchestrator.analysis.exploration.sequence import FlowSequence
    from longhaul.orchestrator.analysis.series import Floats
    from longhaul.orchestrator.analysis.trace_moments import Moment
    from longhaul.orchestrator.plan.run import Run as PlannedRun
    from longhaul.orchestrator.plan.run_document import RunDocument
    from longhaul.orchestrator.trace.records import ColumnSource, Trace
    from longhaul.results.frames import Library
    from longhaul.results.source import TraceSource


class Series(NamedTuple):
    """One measure of a flow or a link over time, thinned so that every extreme stays."""

    measure: str
    of: str
    unit: str
    t_s: Floats
    value: Floats


class Run(Documented):
    """A run. Its keys are those of its document in `longhaul run --json` (docs/experiment-format.md)."""

    def __init__(self, document: Mapping[str, Any], source: TraceSource) -> None:
        super().__init__(document)
        self._source = source

    @property
    def document(self) -> RunDocument:
        """The JSON document."""
        return cast("RunDocument", self._document)

    @property
    def id(self) -> str:
        """The id of the run: a hash of its plan and of the programs that ran it."""
        return str(self["run"])

    @property
    def experiment(self) -> str:
        """The name of its experiment."""
        return str(self["experiment"])

    @property
    def status(self) -> str:
        """done; missed: an expectation is not met; failed: no numbers; cancelled."""
        return str(self["status"])

    @property
    def ok(self) -> bool:
        """Whether it has numbers and meets every expectation."""
        return self.status == "done"

    @property
    def has_numbers(self) -> bool:
        """Whether it ran to its end and was measured."""
        return self.status in ("done", "missed")

    @property
    def seed(self) -> int:
        """Its seed."""
        return int(self["seed"])

    @property
    def point(self) -> dict[str, str]:
        """The swept fields with their values."""
        return dict(self["point"])

    @property
    def error(self) -> str:
        """Why it failed, in one sentence; otherwise empty."""
        return sentence(self["error"]) if "error" in self else ""

    @property
    def measures(self) -> dict[str, float]:
        """Every measure of the window with a value, by name, as in `goodput(app)` or `utilisation`."""
        return dict(self._measures(None))

    @property
    def phases(self) -> dict[str, dict[str, float]]:
        """The same for each phase of the experiment."""
        return {phase: dict(self._measures(phase)) for phase in self.get("phases", {})}

    def series(
        self,
        measure: str,
        *,
        flow: str | None = None,
        link: str | None = None,
        begin_s: float = 0.0,
        end_s: float | None = None,
        points: int = 2000,
    ) -> Series:
        """One series of `longhaul list series`: of a flow, of a link, or of the first bottleneck."""
        from longhaul.orchestrator.analysis.timelines import timeline

        planned, trace = self.planned, self._trace()
        found = timeline(
            planned, trace.columns, measure, flow=flow, link=link, begin_s=begin_s, end_s=end_s, points=points
        )
        return Series(found.measure, found.about, found.unit, found.t_s, found.values)

    def frame(self, kind: str, library: Library | None = None) -> Any:
        """The records of a kind (acks, flows, links, drops, events, states) or the `measures`, as a table of pandas, polars or pyarrow.

        By default, the first of these that is installed.
        """
        from longhaul.results.frames import MEASURES, as_frame, joined, rows_table

        if kind == MEASURES:
            return as_frame(rows_table(self.measure_rows()), library)
        return as_frame(joined([self.columns(kind)]), library)

    def moments(
        self,
        *kinds: str,
        about: Sequence[str] = (),
        begin_s: float = 0.0,
        end_s: float | None = None,
        most: int | None = None,
    ) -> list[Moment]:
        """What happened, in the order of time: `start`, `stop`, `change`, `drop`, `mark`, `reduction`, `recovery`, `timeout`, `open`; by default all.

        `about` names flows and links, by default all.
        """
        from longhaul.orchestrator.analysis.trace_moments import moment_list

        planned, trace = self.planned, self._trace()
        found = moment_list(planned, trace.columns, kinds=kinds, about=about, begin_s=begin_s, end_s=end_s)
        return list(found.page(most=most).moments)

    def phase(self, flow: str, x: str = "rtt", y: str = "cwnd", **span: Any) -> Phase:
        """A quantity `y` of a flow against another, `x`, at each ACK: cwnd, inflight, rtt, srtt, pacing, queue or queue_delay.

        `span` may have begin_s, end_s and points.
        """
        from longhaul.orchestrator.analysis.exploration.phase import phase

        return phase(self.planned, self._trace().columns, flow, x=x, y=y, **span)

    def states(self, flow: str, **span: Any) -> ControlStates:
        """The states of a flow's congestion control: TCP's own, BBR's phase, CUBIC's origin point. `span` may have begin_s and end_s."""
        from longhaul.orchestrator.analysis.exploration.control_states import control_states

        return control_states(self.planned, self._trace().columns, flow, **span)

    def occupancy(self, link: str | None = None, **span: Any) -> Occupancy:
        """How full a queue is over time, by default the first bottleneck's. `span` may have begin_s, end_s, columns and rows."""
        from longhaul.orchestrator.analysis.exploration.occupancy import occupancy

        return occupancy(self.planned, self._trace().columns, link=link, **span)

    def sequence(self, flow: str, **span: Any) -> FlowSequence:
        """What a flow had sent and what was acknowledged over time, as the trace has it. `span` may have begin_s, end_s and points."""
        from longhaul.orchestrator.analysis.exploration.sequence import sequence

        return sequence(self.planned, self._trace().columns, flow, **span)

    def repeated(self) -> tuple[PlannedRun, ColumnSource]:
        """The plan and the columns of the trace, for a band of repeats."""
        return self.planned, self._trace().columns

    def columns(self, kind: str) -> dict[str, Any]:
        """The columns of `frame`, as numpy and pyarrow arrays."""
        from longhaul.results.frames import kind_of, record_columns

        records = kind_of(kind)
        self._check_numbers()
        return record_columns(records, self._source.records(self.id, records), self.planned)

    def measure_rows(self) -> list[dict[str, Any]]:
        """A row for each measure that has a value: phase (none: the window), flow (none: the path or the whole run), measure, value."""
        from longhaul.orchestrator.analysis.aggregate import measure_keys
        from longhaul.orchestrator.analysis.values import value_of

        if not self.has_numbers:
            return []
        return [
            {"phase": phase, "flow": flow, "measure": measure, "value": value}
            for phase, flow, measure in measure_keys(self.document)
            if (value := value_of(self.document, measure, flow, phase)) is not None
        ]

    @property
    def planned(self) -> PlannedRun:
        """The plan of the run: every resolved number."""
        self._check_numbers()
        return self._source.planned(self.id)

    def chart(self) -> bytes:
        """Windows, goodput, round trips and queue over time, as SVG."""
        from longhaul.orchestrator.analysis.figures.run_figure import draw_figure

        return draw_figure([(self.planned, self._trace())], "svg")

    def report(self, output: str | Path) -> Path:
        """Write a self-contained report: .html, .svg or .png."""
        from longhaul.orchestrator.analysis.report.report import write_report

        output = Path(output)
        write_report([self.reported()], output)
        return output

    def reported(self) -> tuple[RunDocument, PlannedRun, Trace]:
        """The data of a report."""
        return self.document, self.planned, self._trace()

    def text(self, name: str, made_of: str, make: Callable[[], tuple[str, bool]]) -> str:
        """A text made of this run, kept with a kept run; `make` gives it, and whether it may be kept."""
        return self._source.text(self.id, name, made_of, make)

    def _measures(self, phase: str | None) -> Iterator[tuple[str, float]]:
        for row in self.measure_rows():
            if row["phase"] == phase:
                yield (f"{row['measure']}({row['flow']})" if row["flow"] else row["measure"]), row["value"]

    def _trace(self) -> Trace:
        self._check_numbers()
        return self._source.trace(self.id)

    def _check_numbers(self) -> None:
        if not self.has_numbers:
            what = f"the run failed ({self.error})" if self.error else f"the run is {self.status}"
            raise ResultsError("reading the trace of run", self.id, what, "it has no numbers")

    def __str__(self) -> str:
        lines = [text_table(flow_rows([self])), *([self.error] if self.error else [])]
        return "\n".join(filter(None, lines))

    def __repr__(self) -> str:
        point = point_text(self.point)
        return f"<Run {self.id} of {self.experiment}{f' at {point}' if point else ''}, seed {self.seed}: {self.status}>"

    def _repr_html_(self) -> str:
        from longhaul.orchestrator.system.extras import is_installed
        from longhaul.results.html import image_html, lines_html, table_html

        caption = f"{self.experiment} {point_text(self.point)} seed {self.seed}: {self.status}"
        if not self.has_numbers:
            return lines_html([caption, self.error])
        missed = [f"missed: {one['text']}" for one in self["expect"] if not one["ok"]]
        chart = ""
        if is_installed("figures"):
            chart = image_html(self.chart(), f"Windows, goodput, round trips and queue of run {self.id}")
        return table_html(flow_rows([self]), caption) + lines_html(missed) + chart
