"""`longhaul agent`: the program that moves the data, in guests and on hosts."""

from __future__ import annotations

import typer

from longhaul.cli.terminal.commands import command, group_app

app = group_app("The agent, which moves the data in guests and on hosts.")


@command(app, "build")
def build() -> None:
    """Build the agent, unless it is built already."""
    from longhaul.orchestrator.kernels.build import build_agent

    typer.echo(build_agent())
