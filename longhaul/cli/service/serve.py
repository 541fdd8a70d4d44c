"""`longhaul serve`: the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app

app = verb_app()


@dataclass(frozen=True)
class ServeOptions:
    """The options of `longhaul serve`."""

    host: Annotated[str, typer.Option(help="The address to listen on; only this machine can reach the default.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080


@command(app)
def serve(options: ServeOptions) -> int:
    """Start the service: the REST API, and the dispatcher that carries out what is queued."""
    from longhaul.api.serve import serve as start

    return start(options.host, options.port)
