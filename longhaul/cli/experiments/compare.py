"""`longhaul compare`: two sides, paired by point and seed; the exit code is that of the gate."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import (
    EverythingOption,
    GatesOption,
    JsonOption,
    JunitOption,
    LeastOption,
    MarkdownOption,
    PairsReportOption,
    SideA,
    SideB,
    TraceOption,
)
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_MISSED
from longhaul.cli.terminal.service_options import TOKEN_ENV, ServerOption, TokenEnvOption, server_of
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.compare import Comparison
    from longhaul.orchestrator.analysis.trace_differences import TraceDifference

app = verb_app()

# Rows besides those of the gate; a sweep of many points has hundreds.
_SHOWN = 20


@dataclass(frozen=True)
class CompareOptions:
    """The options of `longhaul compare`."""

    a: SideA
    b: SideB = None
    by: Annotated[
        str | None,
        typer.Option(
            metavar="FIELD[=A,B]",
            help="Instead of B: compare two values of a swept field of A, as in flows.app.cc=cubic,bbr.",
        ),
    ] = None
    gates: GatesOption = None
    least: LeastOption = "2 %"
    everything: EverythingOption = False
    trace: TraceOption = False
    as_json: JsonOption = False
    junit: JunitOption = None
    summary: MarkdownOption = None
    report: PairsReportOption = None
    baseline: Annotated[
        str | None,
        typer.Option(metavar="BRANCH", help="Instead of B: compare A with the service's baseline of this branch."),
    ] = None
    match: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FLOW=NAME",
            help="With a recording: its flow whose name contains NAME is the run's FLOW; as often as needed.",
        ),
    ] = None
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV

    def check(self) -> None:
        """PlanError if a file would be empty."""
        if self.junit is not None and not self.gates:
            what = "there is no gate, so the file would have no test"
            raise PlanError("writing", str(self.junit), what, "name a gate with --for")

    def matches(self) -> dict[str, str]:
        """The recorded flow of each named flow; PlanError."""
        pairs = [text.partition("=") for text in self.match or []]
        if wrong := next((name for name, _, of in pairs if not name or not of), None):
            raise PlanError("reading --match", wrong, "it has no FLOW=NAME", "for example --match app=10.0.0.2:5001")
        return {name: of for name, _, of in pairs}


@command(app)
def compare(options: CompareOptions) -> int:
    """Compare two runs or results, paired by point and seed; exit code 1 if a measure of --for is worse."""
    options.check()
    if service := server_of(options.server, needed_for="baselines" if options.baseline is not None else ""):
        from longhaul.cli.experiments.remote import compare_remotely

        return finish(*compare_remotely(options, service), options)
    from longhaul.laboratory.comparisons import compare_sides, differences_here

    gates = options.gates or []
    with in_words(f"comparing {options.a}"):
        match = options.matches()
        found = compare_sides(options.a, options.b, by=options.by, gates=gates, min_effect=options.least, match=match)
        differences = differences_here(found) if options.trace else None
    return finish(found, differences, options)


def finish(comparison: Comparison, differences: list[TraceDifference] | None, options: CompareOptions) -> int:
    """Print the comparison, write the files, return the exit code: 1 if a gated measure is worse."""
    from longhaul.orchestrator.analysis.recordings.recording import BACKEND as RECORDED
    from longhaul.orchestrator.analysis.report import comparison_text
    from longhaul.orchestrator.analysis.report.junit import comparison_xml
    from longhaul.orchestrator.system.files import write_whole

    if options.as_json:
        print(json.dumps(comparison_text.as_json(comparison, differences)))
    else:
        _print(comparison, everything=options.everything)
        _print_differences(differences or [])
        if comparison.recorded:
            _print_overlay(comparison)
    if options.junit is not None:
        write_whole(options.junit, comparison_xml(comparison))
    if options.summary is not None:
        write_whole(options.summary, comparison_text.markdown(comparison))
    if options.report is not None:
        from longhaul.cli.terminal.output import write_report
        from longhaul.laboratory.kept_runs import kept_run

        documents = [one for pair in comparison.pairing.pairs for one in pair if one["status"] != "failed"]
        runs = dict.fromkeys(one["run"] for one in documents if one["backend"] != RECORDED)
        panels = [panel for recording in comparison.recorded for panel in recording.panels()]
        write_report([kept_run(run) for run in runs], options.report, panels)
    return EXIT_MISSED if comparison.fails else EXIT_DONE


def _print(comparison: Comparison, *, everything: bool) -> None:
    from longhaul.cli.terminal.console import notes_console, plain_table, results_console
    from longhaul.orchestrator.analysis.report.comparison_text import (
        cells,
        gate_line,
        notes,
        shown_rows,
        sides_line,
        verdict_line,
    )

    # Every measure of a single pair fits on a screen.
    everything = everything or len(comparison.pairing.pairs) == 1
    rows = shown_rows(comparison.rows, everything=everything)
    shown = rows if everything else rows[: _SHOWN + comparison.gated]
    print(sides_line(comparison))
    if shown:
        results_console().print(plain_table([cells(row) for row in shown]))
    if len(shown) < len(rows):
        print(f"and {len(rows) - len(shown)} more that changed; --all shows every measure")
    for note in notes(comparison):
        notes_console().print(f"note: {note}", style="yellow", highlight=False, markup=False)
    print(verdict_line(comparison))
    if comparison.gated:
        print(gate_line(comparison))


def _print_differences(differences: list[TraceDifference]) -> None:
    from longhaul.cli.terminal.console import plain_table, results_console
    from longhaul.orchestrator.analysis.report.comparison_text import difference_cells, difference_line

    for one in differences:
        print(difference_line(one))
    # Of many pairs, the first one that differs shows both sides.
    if differences:
        results_console().print(plain_table(difference_cells(differences[0])))


def _print_overlay(comparison: Comparison) -> None:
    """The charts of the first run, with the recordings over them."""
    from longhaul.cli.terminal.console import notes_console, results_console
    from longhaul.cli.terminal.output import chart_columns
    from longhaul.laboratory.kept_runs import kept_run
    from longhaul.orchestrator.analysis.panels import overlaid, run_panels
    from longhaul.orchestrator.analysis.report.chart import panel_charts
    from longhaul.orchestrator.system.errors import NotFound

    try:
        run = kept_run(comparison.pairing.pairs[0][0]["run"])
    except NotFound:
        notes_console().print(
            "note: the run is not kept on this machine, so nothing is drawn", style="yellow", highlight=False
        )
        return
    _, planned, trace = run.reported()
    recorded = [panel for recording in comparison.recorded for panel in recording.panels()]
    panels = overlaid(run_panels(planned, trace), recorded)
    shown = [panel for panel in panels if panel.title in {one.title for one in recorded}]
    end_s = max([planned.duration_us / 1e6, *(one.end_s for one in comparison.recorded)])
    console = results_console()
    console.print(panel_charts(shown, end_s, chart_columns(console), colour=console.is_terminal))
