"""`longhaul agent`: the program that runs beside the packets, in guests and on hosts."""

from __future__ import annotations

import typer

from longhaul.cli.terminal.commands import command, group_app

app = group_app("The program next to the packets.")


@command(app, "build")
def build() -> None:
    """Build the agent, or find it where it was built."""
    from longhaul.orchestrator.kernels.build import build_agent

    typer.echo(build_agent())
