"""The words that several verbs take, each with one meaning."""

from __future__ import annotations

from typing import Annotated

import typer


def _print_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version as installed

        typer.echo(f"longhaul {installed('longhaul')}")
        raise typer.Exit


def _shipped(begun: str) -> list[str]:
    """For the shell's completion."""
    from longhaul.orchestrator.spec.load import shipped_experiments

    return [name for name in shipped_experiments() if name.startswith(begun)]


VersionOption = Annotated[
    bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
JobsOption = Annotated[int | None, typer.Option(min=1, help="Guests at once; one a processor by default.")]
NoCacheOption = Annotated[bool, typer.Option("--no-cache", help="Run again what the store already has.")]
ExperimentArgument = Annotated[
    str, typer.Argument(metavar="EXPERIMENT", help="A shipped name or a YAML or JSON file.", autocompletion=_shipped)
]
