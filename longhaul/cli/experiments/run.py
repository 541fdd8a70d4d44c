"""`longhaul run`: every run of an experiment, here or on a service."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.hints import show_hints
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import (
    ExperimentOptions,
    JobsOption,
    JsonOption,
    MarkdownOption,
    NoCacheOption,
    WatchOption,
)
from longhaul.cli.terminal.output import Files, exit_code, show_result, with_numbers, write_summaries
from longhaul.cli.terminal.service_options import (
    TOKEN_ENV,
    ServerOption,
    TokenEnvOption,
    refuse_with_server,
    server_of,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.results.result import Result

app = verb_app()


@dataclass(frozen=True)
class RunOptions(ExperimentOptions):
    """The options of `longhaul run`."""

    jobs: JobsOption = None
    out: Annotated[Path | None, typer.Option(help="Also write the documents and traces into this folder.")] = None
    as_json: JsonOption = False
    junit: Annotated[Path | None, typer.Option(help="Write a JUnit file with a test for each run.")] = None
    markdown: MarkdownOption = None
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")] = None
    no_cache: NoCacheOption = False
    watch: WatchOption = False
    title: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A title: of the experiment on a service, or of each run here.")
    ] = None
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="A tag of the same.")] = None
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV

    @property
    def files(self) -> Files:
        """The files to write."""
        return Files(self.junit, self.markdown, self.report, self.out)

    @property
    def remote(self) -> dict[str, Any]:
        """The options that a service needs, as fields of its AskedFor."""
        fields = {"where": self.where, "clock": self.clock, "seed": self.seed, "repeats": self.repeats}
        words = {"title": self.title, "tags": self.tag}
        given = {name: value for name, value in words.items() if value}
        return {"backend": self.backend, **fields, **given} | ({"hosts": self.host_names} if self.hosts else {})


@command(app)
def run(options: RunOptions) -> int:
    """Run an experiment, every point of its sweep and every repeat, on this machine or on a service."""
    if options.watch:
        from longhaul.cli.terminal.progress import require_terminal

        require_terminal(options.experiment)
    if service := server_of(options.server):
        from longhaul.cli.experiments.remote import run_remotely

        refuse_with_server(service, {"--jobs": options.jobs is not None, "--no-cache": options.no_cache})
        return run_remotely(options, service)
    return _run_here(options)


def _run_here(options: RunOptions) -> int:
    from longhaul.cli.experiments.plan import plan_of
    from longhaul.cli.terminal.progress import shown_progress
    from longhaul.laboratory import experiments

    options.files.check()
    if options.title or options.tag:
        from longhaul.laboratory.annotations import check_words

        check_words(options.title, options.tag)
    plan = plan_of(options)
    use_cache = not options.no_cache
    quiet = options.as_json and not options.watch
    with shown_progress(plan.experiment, plan.runs, quiet=quiet, use_cache=use_cache, charts=options.watch) as watcher:
        result = experiments.run(plan, jobs=options.jobs, cache=use_cache, watcher=watcher)
    if options.title or options.tag:
        from longhaul.laboratory.annotations import annotate_new

        annotate_new([one.id for one in with_numbers(result)], options.title, options.tag or [])
    if options.as_json:
        print(json.dumps(result.document))
    else:
        show_result(result)
    write_summaries(result, options.files)
    if options.report is not None and with_numbers(result):
        from longhaul.cli.terminal.output import write_report

        with in_words(f"drawing {options.report}"):
            write_report(with_numbers(result), options.report)
    if options.out is not None:
        _copy_runs(result, options.out)
    if not options.as_json:
        show_hints(result, options.experiment, reported=options.report is not None)
    return exit_code(result.runs)


def _copy_runs(result: Result, folder: Path) -> None:
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings

    store = Store(load_settings())
    for run in with_numbers(result):
        if (fault := store.fault(run.id, thorough=True)) is not None:
            raise fault
        shutil.copytree(store.directory(run.id), folder / run.id, dirs_exist_ok=True)
