"""`longhaul serve`: the service."""

from __future__ import annotations

from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class ServeOptions:
    """The options of `longhaul serve`."""

    host: Annotated[
        str, typer.Option(help="The address to listen on; the default is reachable from this machine only.")
    ] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080


@command(app)
def serve(options: ServeOptions) -> int:
    """Start the service: the REST API, the page, and the dispatcher that runs what is queued."""
    from longhaul.api.serve import serve as start

    return start(options.host, options.port)
