"""`longhaul worker`: run experiments on this machine for a service elsewhere."""

from __future__ import annotations

from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JobsOption
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class WorkerOptions:
    """The options of `longhaul worker`."""

    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="The Dask scheduler; LONGHAUL_DASK by default.")
    ] = None
    slots: JobsOption = None


@command(app)
def worker(options: WorkerOptions) -> int:
    """Run experiments on this machine for a service elsewhere, through a Dask scheduler, until stopped."""
    from longhaul.orchestrator.execution.cluster.worker import watch_over_worker
    from longhaul.orchestrator.system.settings import load_settings, scheduler_address

    settings = load_settings()
    given = options.scheduler
    address = scheduler_address(given, "--scheduler") if given else settings.dask
    if not address:
        raise PlanError("starting a worker", "", "no scheduler is named", "give --scheduler, or set LONGHAUL_DASK")
    return watch_over_worker(address, options.slots or settings.jobs)
