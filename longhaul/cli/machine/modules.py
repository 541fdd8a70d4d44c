"""`longhaul modules`: congestion controls for guests, built, tried and listed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import JsonOption, KernelOption
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_MISSED, show_rows
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.execution.module_check import Checked

app = group_app("Congestion-control modules for the sandbox.")
# Unusual paths of --debug: a run takes some seconds there.
_DRAWN = 8


@dataclass(frozen=True)
class BuildOptions:
    """The options of `longhaul modules build`."""

    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]", help="A folder, an archive or a git+URL of a source; the project's modules by default."
        ),
    ] = None
    kernel: KernelOption = "6.12"
    symbols: Annotated[
        bool,
        typer.Option("--symbols", help="With debugging information, for gdb on a guest: docs/debugging-modules.md."),
    ] = False


@command(app, "build")
def build(options: BuildOptions) -> None:
    """Build kernel modules for the sandbox; print the compiler's errors if it rejects them."""
    from longhaul.orchestrator.kernels.build import build_folder, build_modules

    source, symbols = options.source, options.symbols
    if symbols and source is None:
        raise PlanError("building modules", "--symbols", "it is for a source", "name a folder, an archive or a git+URL")
    with in_words(f"building modules for {options.kernel}"):
        built = (
            build_modules(options.kernel) if source is None else build_folder(options.kernel, source, symbols=symbols)
        )
    typer.echo(built)


@dataclass(frozen=True)
class CheckOptions:
    """The options of `longhaul modules check`."""

    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE]...",
            help="Folders, archives, git+URLs or objects (.ko); every known congestion control by default.",
        ),
    ] = None
    kernel: KernelOption = "6.12"
    all_kernels: Annotated[bool, typer.Option("--all-kernels", help="Try each on every kernel that is built.")] = False
    debug: Annotated[
        bool, typer.Option("--debug", help="On the kernel that finds faults, 6.12-debug, also on eight unusual paths.")
    ] = False
    as_json: JsonOption = False


@command(app, "check")
def check(options: CheckOptions) -> int:
    """Load each congestion control into a guest and move data with it over a lossy path; exit code 1 if one fails on every kernel."""
    from longhaul.orchestrator.execution.module_check import check_known, check_source
    from longhaul.orchestrator.kernels.build import kernels_for_modules
    from longhaul.orchestrator.spec.kernel_versions import DEBUG_KERNELS
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    kernels = kernels_for_modules(settings) if options.all_kernels else [options.kernel]
    if options.debug:
        if options.all_kernels:
            what = "--debug has a kernel of its own"
            raise PlanError("trying congestion controls", "--all-kernels", what, "leave one of them out")
        kernels = [*DEBUG_KERNELS]
    drawn = _DRAWN if options.debug else 0
    rows: list[Checked] = []
    with in_words("trying congestion controls in guests", lambda: f"{len(rows)} done"):
        for found in (
            (check_source(source, kernels, settings, drawn) for source in options.sources)
            if options.sources
            else (check_known(kernels, settings, drawn),)
        ):
            rows.extend(found)
    if options.as_json:
        print(json.dumps([{**asdict(row), "ok": row.ok} for row in rows]))
    else:
        from longhaul.cli.terminal.console import plain_table, results_console

        results_console().print(plain_table([*_table(rows, kernels)]))
        for row in rows:
            for line in row.report:
                print(f"{row.cc}: {line}")
    works = {row.control for row in rows if row.ok}
    return EXIT_DONE if all(row.control in works for row in rows) else EXIT_MISSED


def _table(rows: Sequence[Checked], kernels: Sequence[str]) -> Iterator[dict[str, str]]:
    """A row for each control, with the first fault where no kernel runs it."""
    several = len({row.source for row in rows}) > 1
    for control in dict.fromkeys(row.control for row in rows):
        own = {row.kernel: row for row in rows if row.control == control}
        best = max(own.values(), key=lambda row: (row.moves_data, row.loads, row.builds))
        steps = {"builds": best.builds, "loads": best.loads, "moves data": best.moves_data}
        yield {
            "cc": best.cc,
            **({"source": best.source.rstrip("/").rpartition("/")[2]} if several else {}),
            "module": best.module,
            **{name: "yes" if done else "no" for name, done in steps.items()},
            **(
                {kernel: _state(own.get(kernel)) for kernel in kernels}
                if len(kernels) > 1
                else {"kernel": best.with_kernel or best.kernel}
            ),
            "fault": "" if best.ok else best.fault,
        }


def _state(row: Checked | None) -> str:
    if row is None:
        return "-"
    if row.ok and row.with_kernel:
        return row.with_kernel
    return "yes" if row.ok else "no data" if row.loads else "no load" if row.builds else "no build"


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
