"""`longhaul kernel`: the kernels of guests."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.options import JsonOption

app = group_app("The sandbox kernel.")


@dataclass(frozen=True)
class BuildOptions:
    """The options of `longhaul kernel build`."""

    version: Annotated[str, typer.Argument(metavar="VERSION", help="A kernel of kmod/sandbox/kernel.lock.")] = "6.12"


@command(app, "build")
def build(options: BuildOptions) -> None:
    """Build the sandbox kernel, unless the cache has it."""
    from longhaul.orchestrator.kernels.build import build_kernel

    typer.echo(build_kernel(options.version))


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
