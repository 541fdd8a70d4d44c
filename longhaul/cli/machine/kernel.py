"""`longhaul kernel`: the kernels of guests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import show_rows

app = group_app("The sandbox kernel.")


class Origin(StrEnum):
    """Where a kernel comes from."""

    RELEASE = "release"
    SOURCE = "source"


@dataclass(frozen=True)
class BuildOptions:
    """The options of `longhaul kernel build`."""

    version: Annotated[str, typer.Argument(metavar="VERSION", help="A kernel of kmod/sandbox/kernel.lock.")] = "6.12"
    origin: Annotated[
        Origin | None,
        typer.Option(
            "--from",
            help="The release's, which a wheel brings, or built from source; by default the release's where this installation has it.",
        ),
    ] = None


@command(app, "build")
def build(options: BuildOptions) -> None:
    """Install the release's sandbox kernel or build one, with its modules, unless the cache has it; runs use it from then on."""
    from longhaul.orchestrator.kernels.build import build_kernel

    typer.echo(build_kernel(options.version, options.origin or ""))


@dataclass(frozen=True)
class InstallOptions:
    """The options of `longhaul kernel install`."""

    wheel: Annotated[
        Path, typer.Argument(metavar="WHEEL", help="A file longhaul-*.whl or longhaul_kernel_*.whl.", exists=True)
    ]


@command(app, "install")
def install(options: InstallOptions) -> None:
    """Install the kernels of a wheel's file into the cache, without a network; runs use them from then on."""
    from longhaul.orchestrator.kernels.prebuilt import install_wheel
    from longhaul.orchestrator.system.settings import load_settings

    for name, place in install_wheel(load_settings(), options.wheel):
        typer.echo(f"{name}: {place}")


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul kernel list`."""

    as_json: JsonOption = False


@command(app, "list")
def list_kernels(options: ListOptions) -> None:
    """List the kernels in the cache: which are the release's, which are built here, and which runs use."""
    from longhaul.orchestrator.kernels.build import kernels_in_cache
    from longhaul.orchestrator.system.settings import load_settings

    rows = kernels_in_cache(load_settings())
    shown = [
        {
            "version": row["version"],
            "kernel": row["kernelrelease"],
            "hash": row["hash"][:16],
            "origin": row["origin"],
            "used by runs": "yes" if row["current"] else "no",
            "headers": "yes" if row["headers"] else "no",
        }
        for row in rows
    ]
    show_rows("kernels", rows, shown, as_json=options.as_json)


@dataclass(frozen=True)
class InfoOptions:
    """The options of `longhaul kernel info`."""

    as_json: JsonOption = False


@command(app, "info")
def info(options: InfoOptions) -> None:
    """Show which kernels exist and which are built."""
    from longhaul.orchestrator.kernels.build import built_kernels
    from longhaul.orchestrator.system.settings import load_settings

    rows = built_kernels(load_settings())
    if options.as_json:
        print(json.dumps(rows))
        return
    for row in rows:
        built = f"{row['kernelrelease']}, {row['hash'][:16]}" if row["built"] else "not built"
        print(f"{row['version']}: {built}")
