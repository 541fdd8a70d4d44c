"""`longhaul mininet`: the network of an experiment, live, or a user's Mininet script in a guest."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import SeedOption, SetOption
from longhaul.orchestrator.system.errors import BackendUnavailable, PlanError

app = verb_app()

_MN = "/usr/bin/mn"
# Folders below them are shown.
_EMPTY_IN_GUESTS = ("/tmp", "/run", "/var/tmp")  # noqa: S108 (names, not files)


@dataclass(frozen=True)
class MininetOptions:
    """The options of `longhaul mininet`."""

    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="EXPERIMENT|SCRIPT.py|mn",
            help="The experiment whose network to open, or a script and its arguments.",
        ),
    ]
    changes: SetOption = None
    where: Annotated[
        str,
        typer.Option("--in", metavar="PLACE", help="Where the experiment's network is: guest, or host (needs root)."),
    ] = "guest"
    clock: Annotated[
        str | None,
        typer.Option(
            metavar="CLOCK", help="The clock of a script: virtual (default) or real; a prompt always has real time."
        ),
    ] = None
    kernel: Annotated[str | None, typer.Option(help="The guest's kernel for a script.")] = None
    seed: SeedOption = None


@command(app, context_settings={"ignore_unknown_options": True})
def mininet(options: MininetOptions) -> int:
    """Open the mininet> prompt on an experiment's network, or run a Mininet script (or mn itself, its arguments after --) in a guest."""
    what, *arguments = options.arguments
    if what == "mn" or what.endswith(".py"):
        if options.changes:
            raise PlanError("running", what, "--set is for experiments", "leave it out")
        return _script(what, arguments, options)
    if options.kernel is not None:
        raise PlanError("opening", what, "--kernel is for scripts", "use --set kernel=VERSION")
    if arguments:
        raise PlanError("opening", what, f"an experiment takes no more arguments, read {' '.join(arguments)}")
    if options.clock not in (None, "real"):
        raise PlanError("opening", what, "virtual time does not wait for input at a prompt", "use --clock real")
    return _live(what, options)


def _script(what: str, arguments: Sequence[str], options: MininetOptions) -> int:
    from longhaul.laboratory.experiments import load, plan
    from longhaul.orchestrator.backends.consoles import run_script
    from longhaul.orchestrator.backends.mininet import MininetBackend
    from longhaul.orchestrator.results.staging import Staging
    from longhaul.orchestrator.system.settings import load_settings

    if options.where == "host":
        raise PlanError("running", what, "scripts run in guests only", "on the host, start it with python3 as root")
    script = _MN if what == "mn" else str(Path(what).absolute())
    if not Path(script).is_file():
        raise PlanError("running", what, "the file does not exist", "install mininet" if what == "mn" else "")
    if (folder := str(Path(script).resolve().parent)) in _EMPTY_IN_GUESTS:
        raise PlanError("running", what, f"a guest has an empty {folder} of its own", "move the script to a folder")
    settings = load_settings()
    clock, kernel = options.clock or "virtual", options.kernel or "6.12"
    planned = plan(load("quick", set={"kernel": kernel}), backend="mininet", where=options.where, clock=clock)
    _require_nothing_missing(MininetBackend(settings).check(planned.runs[0]), options.where)
    seed = 1 if options.seed is None else options.seed
    with Staging(settings.home) as staging, staging.directory("mininet") as directory:
        words, virtual = [script, *arguments], clock == "virtual"
        return run_script(settings, directory, words, kernel=kernel, seed=seed, virtual=virtual)


def _live(what: str, options: MininetOptions) -> int:
    from longhaul.laboratory.experiments import plan
    from longhaul.orchestrator.backends.consoles import open_prompt
    from longhaul.orchestrator.backends.mininet import NET, MininetBackend
    from longhaul.orchestrator.backends.mininet_host import open_prompt_on_host
    from longhaul.orchestrator.backends.programs import PYTHON
    from longhaul.orchestrator.results.staging import Staging
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    changes = options.changes or []
    net = plan(what, set=changes, seed=options.seed, backend="mininet", where=options.where, clock="real")
    run = net.runs[0]
    if len(net.runs) > 1:
        print(f"longhaul: {what} has {len(net.runs)} runs; this is the network of the first", file=sys.stderr)
    _require_nothing_missing(MininetBackend(settings).check(run), options.where)
    with Staging(settings.home) as staging, staging.directory("mininet") as directory:
        if options.where == "guest":
            return open_prompt(settings, run, directory)
        return open_prompt_on_host(run, directory, PYTHON, NET)


def _require_nothing_missing(missing: list[tuple[str, str]], where: str) -> None:
    if missing:
        raise BackendUnavailable(f"mininet --in {where}", missing)
