"""`longhaul run` and `compare` on a service: the experiment is read here, runs there, and is shown here.

    experiment.yaml --read--> data, ./mymodule --hash--> sha256:...   --HTTP-->   the service   --events, result-->   terminal, files, exit code

A Ctrl-C before the end, or a CI job that is stopped, cancels the experiment on the service.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from longhaul.cli.terminal.bars import RunProgress, progress_console
from longhaul.cli.terminal.console import MANY
from longhaul.cli.terminal.live_charts import LiveCharts
from longhaul.cli.terminal.output import EXIT_FAILED, exit_code, show_result, with_numbers, write_summaries
from longhaul.cli.terminal.progress import ProgressLines
from longhaul.cli.terminal.service_options import open_client
from longhaul.client import Client, Event, LiveEvent
from longhaul.client.recordings import as_text
from longhaul.laboratory.comparisons import compare_sides, planned_here, read_result
from longhaul.orchestrator.analysis.compare import Comparison
from longhaul.orchestrator.analysis.report.comparison_text import count_text
from longhaul.orchestrator.live.grafana_links import experiment_on_service
from longhaul.orchestrator.modules.content import is_reference, reference
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.recorded_links.formats import format_of
from longhaul.orchestrator.spec.load import OwnCode, load_experiment, plain_data
from longhaul.orchestrator.spec.recordings import is_imported, with_recordings
from longhaul.orchestrator.spec.user_code.module_sources import read_sources
from longhaul.orchestrator.spec.user_code.user_modules import entries_of
from longhaul.orchestrator.system.errors import NotFound, PlanError, ResultsError
from longhaul.orchestrator.system.files import file_sha256, write_whole
from longhaul.orchestrator.system.units import spell_number

if TYPE_CHECKING:
    from longhaul.api.schemas.experiments import Experiment
    from longhaul.cli.experiments.compare import CompareOptions
    from longhaul.cli.experiments.run import RunOptions
    from longhaul.orchestrator.analysis.trace_differences import TraceDifference

_EXPERIMENT_ID_LENGTH = 16
_RUN_ID = re.compile("[0-9a-f]{20}")


def run_remotely(options: RunOptions, server: str) -> int:
    """Submit an experiment, follow it, print and write its result; the exit code."""
    files = options.files
    files.check()
    if files.report is not None and files.report.suffix != ".html":
        raise PlanError("writing", str(files.report), "a service makes HTML reports only", "name a .html file")
    with open_client(server, options.token_env) as client:
        submission = _submission(client, options.experiment, options.changes or []) | options.remote
        ended = _submit_and_follow(
            client, submission, quiet=options.as_json and not options.watch, charts=options.watch
        )
        result = client.result(ended.id, notes=ended.lint)
        result = result.with_fields(id=ended.id, server=client.url, status=ended.status)
        if options.as_json:
            print(json.dumps(result.document))
        else:
            show_result(result)
        write_summaries(result, files)
        if files.report is not None and with_numbers(result):
            write_whole(files.report, client.report(ended.id))
            _note(f"report: {files.report}")
        if files.out is not None:
            for run in with_numbers(result):
                _download(client, run.id, files.out / run.id)
    if ended.status == "cancelled":
        _note(f"experiment {ended.id} was cancelled on the service before its end")
        return EXIT_FAILED
    return exit_code(result.runs)


def _submission(client: Client, experiment: str, changes: Sequence[str]) -> dict[str, Any]:
    """The fields of a file, with its modules sent to the service; or the name of a shipped experiment."""
    path = Path(experiment)
    if path.suffix not in (".yaml", ".yml", ".json") and not path.is_file():
        return {"experiment": experiment, "set": list(changes)}
    data = plain_data(load_experiment(experiment, changes, OwnCode.TEXT))
    if modules := data.get("modules"):
        data["modules"] = [
            entry.at(entry.place if is_reference(entry.place) else _send(client, entry.place))
            for entry in entries_of(modules)
        ]
    known: set[str] = set()
    data |= with_recordings(data, partial(_send_recording, client, known))
    return {"experiment": data}


def _send_recording(client: Client, known: set[str], recording: Mapping[str, Any]) -> Mapping[str, Any]:
    """A recording whose file is on the service; `known` are those that it has, read with the first one."""
    file = recording["file"]
    if is_imported(file):
        return recording
    how = {name: recording.get(name) for name in ("format", "columns", "step")}
    known |= known or {one.reference for one in client.recordings()}

    with as_text(Path(file)) as text:
        found = f"sha256:{file_sha256(text)}"
        if found not in known:
            client.send_recording(text, **how)
            known.add(found)
            _note(f"sent {text.name} as {found}")
    # The service may have the same content under a name with another ending.
    return {**recording, "file": found, "format": how["format"] or format_of(Path(file))}


def _send(client: Client, place: str) -> str:
    source, files = read_sources(place)
    if not client.knows_module(source):
        client.send_module(source, files)
        _note(f"sent {place.rstrip('/').rpartition('/')[2]} as {reference(source)}")
    return reference(source)


def _submit_and_follow(client: Client, submission: dict[str, Any], *, quiet: bool, charts: bool) -> Experiment:
    """Submit and follow. On Ctrl-C before the response, submit again with the same key, to learn which experiment to cancel."""
    key = secrets.token_hex(16)
    made: Experiment | None = None
    try:
        made = client.submit(key=key, **submission)
        known = f"{count_text(made.progress.total, 'run')}, {made.progress.cached} answered from the store"
        _note(f"experiment {made.id} on {client.url}: {known}")
        _note(f"watch it: {experiment_on_service(client.url, made.id)}")
        return _follow(client, made, quiet=quiet, charts=charts)
    except (KeyboardInterrupt, SystemExit):
        _cancel(client, (made or client.submit(key=key, **submission)).id)
        raise


def _cancel(client: Client, experiment: str) -> None:
    client.cancel(experiment)
    _note(f"cancelled experiment {experiment} on {client.url}")


def _follow(client: Client, made: Experiment, *, quiet: bool, charts: bool) -> Experiment:
    """The experiment when it has ended; meanwhile show progress like a local run: bars on a terminal, lines elsewhere."""
    terminal = sys.stderr.isatty()
    if quiet and terminal:
        return client.wait(made.id)
    positions = {href.rpartition("/")[2]: position for position, href in enumerate(made.runs)}
    rows = {row.id: row for row in client.runs(experiment_id=made.id)} if len(positions) <= MANY else {}
    clock = made.asked.get("clock") or ("virtual" if made.asked.get("backend") == "sandbox" else "of its clock")

    lines = ProgressLines(made.name, [1.0] * made.progress.total, answered=made.progress.cached)
    console = progress_console()
    with (
        closing(LiveCharts(console)) as live,
        RunProgress(made.name, made.progress.total, console, above=live.charts) as bars,
    ):

        def show(event: Event) -> None:
            position = positions.get(event.run or "")
            if position is None:
                return
            if event.kind in ("run.started", "run.retried"):
                row = rows.get(event.run or "")
                point = (
                    [f"{path.rpartition('.')[2]}={spell_number(value)}" for path, value in row.point.items()]
                    if row
                    else []
                )
                title = " ".join([made.name, *point, f"seed {row.seed}" if row else ""])
                length_s = row.virtual_s if row else 0.0
                bars.started(position, title, length_s, clock)
                lines.started(position, title, length_s)
                if charts:
                    live.started(position, title, length_s, partial(_watch, client, event.run or ""))
            elif event.kind == "run.progress":
                bars.reached(position, event.data["virtual_s"])
                if not terminal:
                    lines.reached(position, event.data["virtual_s"])
            elif event.kind == "run.finished":
                bars.finished(position)
                live.finished(position)
                if not terminal:
                    lines.finished(position, event.data["status"], cached=False)

        for _ in range(made.progress.cached):
            bars.finished(None)
        return client.wait(made.id, show)


def _watch(client: Client, run: str, over: threading.Event) -> Iterator[LiveEvent]:
    for event in client.watch(run):
        if over.is_set():
            return
        yield event


def _download(client: Client, run: str, folder: Path) -> None:
    """Download the files that a local run writes into a folder, without those that the service makes from them."""
    for name in client.files(run):
        if not name.endswith((".csv", ".flent.gz")):
            client.download(run, name, folder)


def compare_remotely(options: CompareOptions, server: str) -> tuple[Comparison, list[TraceDifference] | None]:
    """Compare two sides whose runs are on a service; or A with a baseline. With --trace, the service compares the traces."""
    if options.report is not None:
        what = "charts need runs that are kept on this machine"
        hint = "read the report of an experiment: GET /experiments/{id}/report"
        raise PlanError("writing", str(options.report), what, hint)
    a, b, names = options.a, options.b, None
    with open_client(server, options.token_env) as client:
        if options.baseline is not None:
            if b is not None or options.by is not None:
                what = f"both the baseline {options.baseline} and another side are given"
                raise PlanError("comparing", a, what, "leave one out")
            base = client.baseline(_name(client, a), options.baseline).experiment_id
            a, b, names = base, a, (f"{options.baseline} ({base})", a)
        found = compare_sides(
            a, b, by=options.by, gates=options.gates or [], min_effect=options.least, names=names,
            find=partial(_documents, client), plan=partial(_planned, client), match=options.matches(),
        )  # fmt: skip
        if not options.trace:
            return found, None
        if found.recorded:
            raise PlanError("comparing traces with", found.b, "a recording has no trace", "leave out --trace")
        pairs = [client.compare(first["run"], second["run"], trace=True) for first, second in found.pairing.pairs]
        return found, [one for pair in pairs for one in pair.trace_differences or []]


def _name(client: Client, side: str) -> str:
    result = read_result(side)
    return client.experiment(side).name if result is None else str(result["experiment"])


def _documents(client: Client, side: str) -> list[RunDocument]:
    if len(side) == _EXPERIMENT_ID_LENGTH:
        found: list[RunDocument] = client.result(side).document["runs"]
        if not found:
            raise ResultsError("comparing experiment", side, "none of its runs has ended", "try again when one has")
        return found
    document = client.run(side).document
    if document is None:
        raise ResultsError("comparing run", side, "it has not ended", "try again when it has")
    return [cast("RunDocument", document)]


def _planned(client: Client, run: str) -> Mapping[str, Any] | None:
    """The plan of a run of the service or of this machine; None if neither keeps it."""
    if _RUN_ID.fullmatch(run):
        with contextlib.suppress(NotFound):
            return client.plan_of(run)
    return planned_here(run)


def _note(text: str) -> None:
    print(text, file=sys.stderr)
