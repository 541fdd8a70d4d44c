"""`longhaul modules`: congestion controls for guests, built, tried and listed."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import JsonOption, KernelOption
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_MISSED, show_rows
from longhaul.orchestrator.system.errors import BackendUnavailable, LonghaulError

app = group_app("Congestion-control modules for the sandbox.")


@dataclass(frozen=True)
class BuildOptions:
    """The options of `longhaul modules build`."""

    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="A folder with tcp_<name>.c; the project's modules by default."),
    ] = None
    kernel: KernelOption = "6.12"


@command(app, "build")
def build(options: BuildOptions) -> None:
    """Build kernel modules for the sandbox; print the compiler's errors if it rejects them."""
    from longhaul.orchestrator.kernels.build import build_folder, build_modules

    folder = options.folder
    with in_words(f"building modules for {options.kernel}"):
        built = build_modules(options.kernel) if folder is None else build_folder(options.kernel, folder.resolve())
    typer.echo(built)


@dataclass(frozen=True)
class CheckOptions:
    """The options of `longhaul modules check`."""

    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MODULE]...", help="Folders or tcp_<name>.ko; every congestion control by default."),
    ] = None
    kernel: KernelOption = "6.12"
    as_json: JsonOption = False


@command(app, "check")
def check(options: CheckOptions) -> int:
    """Load each congestion control into a guest and move data with it over a lossy path; exit code 1 if one fails."""
    rows: list[dict[str, Any]] = []
    with in_words("trying congestion controls in guests", lambda: f"{len(rows)} done"):
        for row in _checked([str(path) for path in options.paths or []], options.kernel):
            rows.append(row)  # noqa: PERF402 (counted while it grows)
    if options.as_json:
        print(json.dumps(rows))
    else:
        from longhaul.cli.terminal.console import plain_table, results_console

        results_console().print(plain_table([{**row, "ok": "yes" if row["ok"] else "no"} for row in rows]))
    return EXIT_DONE if all(row["ok"] for row in rows) else EXIT_MISSED


def _checked(paths: list[str], kernel: str) -> Iterator[dict[str, Any]]:
    from longhaul.orchestrator.backends import open_backend
    from longhaul.orchestrator.execution.pipeline import Pipeline
    from longhaul.orchestrator.plan.compile import compile_plan
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.spec.trial import trials
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    with tempfile.TemporaryDirectory() as home:
        # No later command needs these runs: they go to a separate store.
        pipeline = Pipeline(open_backend("sandbox", settings), Store(replace(settings, home=Path(home))))
        for control, experiment in trials(paths, kernel):
            try:
                (document,) = pipeline.execute(compile_plan(experiment))
                fault = document.get("error", {}).get("what", "")
            except BackendUnavailable:
                raise
            except LonghaulError as error:
                fault = str(error)
            yield {"cc": control, "kernel": kernel, "ok": not fault, "fault": fault}


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul modules list`."""

    as_json: JsonOption = False


@command(app, "list")
def list_modules(options: ListOptions) -> None:
    """List the congestion controls and their parameters."""
    from longhaul.orchestrator.execution.catalogues import CATALOGUES

    rows = CATALOGUES["modules"]()
    show_rows("modules", rows, rows, as_json=options.as_json)
