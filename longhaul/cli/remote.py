"""`longhaul run`, `compare` and `baseline` on a service: what is asked for is read here, carried out there, and shown here.

    experiment.yaml --read--> data, ./mymodule --hash--> sha256:...   --HTTP-->   the service   --events, result-->   terminal, files, exit code

Whoever leaves before the end takes the experiment along: a Ctrl-C, or a CI job that is stopped, cancels it on the service.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.api.schemas.experiments import Experiment
from longhaul.cli.compare import compare_results, planned_here, read_result
from longhaul.cli.console import MANY, RunProgress, plain_table, progress_console, results_console
from longhaul.cli.output import (
    EXIT_FAILED,
    Chart,
    Document,
    Files,
    exit_code,
    show_result,
    with_numbers,
    write_summaries,
)
from longhaul.cli.progress import ProgressLines
from longhaul.client import Client, Event
from longhaul.orchestrator.analysis.report.comparison_text import count_text
from longhaul.orchestrator.execution.catalogues import baseline_rows
from longhaul.orchestrator.live.grafana_links import experiment_on_service
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import load_experiment, plain_data
from longhaul.orchestrator.spec.module_sources import read_sources
from longhaul.orchestrator.spec.user_modules import is_reference, reference
from longhaul.orchestrator.system.errors import NotFound, PlanError, ResultsError
from longhaul.orchestrator.system.files import write_whole
from longhaul.orchestrator.system.settings import secret

if TYPE_CHECKING:
    from rich.text import Text

_EXPERIMENT_ID_LENGTH = 16
_RUN_ID = re.compile("[0-9a-f]{20}")


def run_remotely(
    experiment: str, changes: Sequence[str], options: Mapping[str, Any], *, server: str, token_env: str,
    files: Files, as_json: bool,
) -> int:  # fmt: skip
    """Hand an experiment in, follow it, print and write what came of it; the exit code. `options` are fields of AskedFor."""
    files.check()
    if files.report is not None and files.report.suffix != ".html":
        raise PlanError("writing", str(files.report), "a service makes reports as HTML alone", "name a file in .html")
    with Client(server, secret(token_env)) as client:
        ended = _carried_out(client, _asked(client, experiment, changes) | dict(options), quiet=as_json)
        result = client.result(ended.id).model_dump() | {"id": ended.id, "server": client.url, "status": ended.status}
        if as_json:
            print(json.dumps(result))
        else:
            show_result(result, lint=ended.lint, chart=_chart(client))
        write_summaries(result, files)
        if files.report is not None and with_numbers(result):
            write_whole(files.report, client.report(ended.id))
            _note(f"report: {files.report}")
        if files.out is not None:
            for document in with_numbers(result):
                _download(client, document["run"], files.out / document["run"])
    if ended.status == "cancelled":
        _note(f"experiment {ended.id} was cancelled on the service before its end")
        return EXIT_FAILED
    return exit_code(result["runs"])


def _asked(client: Client, experiment: str, changes: Sequence[str]) -> dict[str, Any]:
    """A file as its fields, its modules sent; a shipped name as the service knows it."""
    path = Path(experiment)
    if path.suffix not in (".yaml", ".yml", ".json") and not path.is_file():
        return {"experiment": experiment, "set": list(changes)}
    data = plain_data(load_experiment(experiment, changes))
    if modules := data.get("modules"):
        data["modules"] = [entry if is_reference(entry) else _send(client, Path(entry)) for entry in modules]
    return {"experiment": data}


def _send(client: Client, folder: Path) -> str:
    source, files = read_sources(folder)
    if not client.knows_module(source):
        client.send_module(source, files)
        _note(f"sent {folder.name} as {reference(source)}")
    return reference(source)


def _carried_out(client: Client, asked: dict[str, Any], *, quiet: bool) -> Experiment:
    """Submit and follow. Who leaves before the answer is here asks once more under the same key, to know what is to be cancelled."""
    key = secrets.token_hex(16)
    made: Experiment | None = None
    try:
        made = client.submit(key=key, **asked)
        known = f"{count_text(made.progress.total, 'run')}, {made.progress.cached} answered from the store"
        _note(f"experiment {made.id} on {client.url}: {known}")
        _note(f"watch it: {experiment_on_service(client.url, made.id)}")
        return _follow(client, made, quiet=quiet)
    except (KeyboardInterrupt, SystemExit):
        _cancel(client, (made or client.submit(key=key, **asked)).id)
        raise


def _cancel(client: Client, experiment: str) -> None:
    client.cancel(experiment)
    _note(f"cancelled experiment {experiment} on {client.url}")


def _follow(client: Client, made: Experiment, *, quiet: bool) -> Experiment:
    """The experiment when it has ended; meanwhile its progress as a local run shows it: bars on a terminal, lines elsewhere."""
    terminal = sys.stderr.isatty()
    if quiet and terminal:
        return client.wait(made.id)
    positions = {href.rpartition("/")[2]: position for position, href in enumerate(made.runs)}
    rows = {row.id: row for row in client.runs(experiment_id=made.id)} if len(positions) <= MANY else {}
    clock = made.asked.get("clock") or ("virtual" if made.asked.get("backend") == "sandbox" else "of its clock")

    lines = ProgressLines(made.name, [1.0] * made.progress.total, answered=made.progress.cached)
    with RunProgress(made.name, made.progress.total, progress_console()) as bars:

        def told(event: Event) -> None:
            position = positions.get(event.run or "")
            if position is None:
                return
            if event.kind in ("run.started", "run.retried"):
                row = rows.get(event.run or "")
                point = [f"{path.rpartition('.')[2]}={value}" for path, value in row.point.items()] if row else []
                title = " ".join([made.name, *point, f"seed {row.seed}" if row else ""])
                length_s = row.virtual_s if row else 0.0
                bars.started(position, title, length_s, clock)
                lines.started(position, title, length_s)
            elif event.kind == "run.progress":
                bars.reached(position, event.data["virtual_s"])
                if not terminal:
                    lines.reached(position, event.data["virtual_s"])
            elif event.kind == "run.finished":
                bars.finished(position)
                if not terminal:
                    lines.finished(position, event.data["status"], cached=False)

        for _ in range(made.progress.cached):
            bars.finished(None)
        return client.wait(made.id, told)


def _chart(client: Client) -> Chart:
    """Draws runs that the service keeps."""

    def draw(document: Document, columns: int, *, colour: bool) -> Text:
        from longhaul.orchestrator.analysis.report.chart import run_charts
        from longhaul.orchestrator.results.traces import read_traces

        with tempfile.TemporaryDirectory(prefix="longhaul-") as name:
            folder = Path(name)
            _download(client, document["run"], folder)
            run = Run.from_json(json.loads((folder / "manifest.json").read_text())["run"])
            return run_charts(run, read_traces(folder), columns, colour=colour)

    return draw


def _download(client: Client, run: str, folder: Path) -> None:
    """What a local run leaves in a folder: tables as CSV would only be the same once more."""
    for name in client.files(run):
        if not name.endswith(".csv"):
            client.download(run, name, folder)


def compare_remotely(
    a: str, b: str | None, *, baseline: str | None, server: str, token_env: str, report: Path | None, **how: Any
) -> int:
    """As compare_results, of experiments and runs of a service; with a baseline, A is held against it."""
    if report is not None:
        what = "the charts are of runs that are kept on this machine"
        raise PlanError("writing", str(report), what, "take the report of an experiment: GET /experiments/{id}/report")
    with Client(server, secret(token_env)) as client:
        how |= {"find": partial(_documents, client), "plan": partial(_planned, client), "report": None}
        if baseline is None:
            return compare_results(a, b, **how)
        if b is not None or how["by"] is not None:
            raise PlanError("comparing", a, f"with the baseline {baseline} and something else", "leave the other out")
        base = client.baseline(_name(client, a), baseline).experiment_id
        names = f"{baseline} ({base})", a
        return compare_results(base, a, names=names, **how)


def _name(client: Client, side: str) -> str:
    result = read_result(side)
    return client.experiment(side).name if result is None else str(result["experiment"])


def _documents(client: Client, side: str) -> list[Document]:
    if len(side) == _EXPERIMENT_ID_LENGTH:
        found = client.result(side).runs
        if not found:
            raise ResultsError("comparing experiment", side, "none of its runs has ended", "follow it, and ask again")
        return found
    document = client.run(side).document
    if document is None:
        raise ResultsError("comparing run", side, "it has not ended", "follow it, and ask again")
    return [document]


def _planned(client: Client, run: str) -> Mapping[str, Any] | None:
    """The plan of a run of the service, or of a result that was made here; None where neither keeps it."""
    if _RUN_ID.fullmatch(run):
        with contextlib.suppress(NotFound):
            return client.plan_of(run)
    return planned_here(run)


def set_baseline(experiment: str, branch: str, *, server: str, token_env: str) -> None:
    """Make an experiment what others of its name are compared with on a branch."""
    with Client(server, secret(token_env)) as client:
        baseline = client.set_baseline(client.experiment(experiment).name, branch, experiment)
        print(f"baseline of {baseline.name} on {baseline.branch}: {baseline.experiment_id}")


def list_baselines(*, server: str, token_env: str, as_json: bool) -> None:
    """Print what is compared with what."""
    with Client(server, secret(token_env)) as client:
        rows = [baseline.model_dump() for baseline in client.baselines()]
    if as_json:
        print(json.dumps(rows))
        return
    results_console().print(plain_table(baseline_rows(rows)) if rows else "no baselines yet")


def _note(text: str) -> None:
    print(text, file=sys.stderr)
