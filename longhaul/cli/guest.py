"""The verbs of what guests are made of: `longhaul agent`, `longhaul kernel`, `longhaul modules` and `longhaul new-module`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.options import JsonOption

agent_app = typer.Typer(help="The program next to the packets.", no_args_is_help=True)
kernel_app = typer.Typer(help="The sandbox kernel.", no_args_is_help=True)
modules_app = typer.Typer(help="Congestion-control modules for the sandbox.", no_args_is_help=True)

KernelOption = Annotated[str, typer.Option(help="For this kernel.")]
KernelArgument = Annotated[str, typer.Argument(metavar="VERSION", help="A kernel of kmod/sandbox/kernel.lock.")]


@agent_app.command("build")
def agent_build() -> None:
    """Build the agent, or find it where it was built."""
    from longhaul.orchestrator.kernels.build import build_agent

    typer.echo(build_agent())


@kernel_app.command("build")
def kernel_build(version: KernelArgument = "6.12") -> None:
    """Build the sandbox kernel, or find it in the cache."""
    from longhaul.orchestrator.kernels.build import build_kernel

    typer.echo(build_kernel(version))


@kernel_app.command("info")
def kernel_info(as_json: JsonOption = False) -> None:
    """Show the kernels that can be built and those that are."""
    from longhaul.cli.verbs import show_kernels

    show_kernels(as_json=as_json)


@modules_app.command("build")
def modules_build(
    folder: Annotated[
        Path | None,
        typer.Argument(metavar="[FOLDER]", help="A folder with tcp_<name>.c; the project's own by default."),
    ] = None,
    kernel: KernelOption = "6.12",
) -> None:
    """Build kernel modules for the sandbox, with the compiler's words where it refuses them."""
    from longhaul.orchestrator.kernels.build import build_folder, build_modules

    typer.echo(build_modules(kernel) if folder is None else build_folder(kernel, folder.resolve()))


@modules_app.command("check")
def modules_check(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MODULE]...", help="Folders or tcp_<name>.ko; every congestion control by default."),
    ] = None,
    kernel: KernelOption = "6.12",
    as_json: JsonOption = False,
) -> None:
    """Load each congestion control into a guest and move data through it, over a path that loses; exit code 1 if one fails."""
    from longhaul.cli.verbs import check_modules

    raise typer.Exit(check_modules([str(path) for path in paths or []], kernel, as_json=as_json))


@modules_app.command("list")
def modules_list(as_json: JsonOption = False) -> None:
    """List the congestion controls with their parameters."""
    from longhaul.cli.verbs import list_nouns

    list_nouns("modules", as_json=as_json, limit=0)


def new_module(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name: small letters, digits and underscores.")],
    folder: Annotated[
        Path | None, typer.Option("--folder", metavar="FOLDER", help="Where to write it; ./NAME by default.")
    ] = None,
) -> None:
    """Write a congestion control to begin with, that compiles and runs, and an experiment that tests it."""
    from longhaul.cli.new_module import write_module

    write_module(name, folder or Path(name))
