"""`longhaul mininet`: the network of an experiment, live, or a user's Mininet script in a guest."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import SeedOption, SetOption
from longhaul.orchestrator.system.errors import BackendUnavailable, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.laboratory.scripts import ScriptEnd

app = verb_app()


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
    keep: Annotated[
        bool, typer.Option("--keep/--no-keep", help="Keep what a script's TCP connections and queues did as a run.")
    ] = True


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
    from longhaul.laboratory.scripts import run_mininet
    from longhaul.orchestrator.spec.kernel_versions import ORDINARY_KERNELS

    if options.where == "host":
        raise PlanError("running", what, "scripts run in guests only", "on the host, start it with python3 as root")
    ended = run_mininet(
        what,
        arguments,
        kernel=options.kernel or ORDINARY_KERNELS[0],
        seed=1 if options.seed is None else options.seed,
        clock=options.clock or "virtual",
        keep=options.keep,
        echo=True,
    )
    for line in _about_run(what, ended) if options.keep and ended.code == 0 else ():
        print(f"longhaul: {line}", file=sys.stderr)
    return ended.code


def _about_run(what: str, ended: ScriptEnd) -> Iterator[str]:
    if ended.run is None:
        yield f"no run of {what} is kept: {ended.why}"
        return
    run, trace = ended.run["run"], ended.run["trace_sha256"][:16]
    if ended.identical is None:
        yield f"kept as run {run}, trace {trace}; `longhaul report {run}` draws it"
    elif ended.identical:
        yield f"identical to the kept run {run}, trace {trace}"
    else:
        yield f"trace {trace} differs from that of the kept run {run}, which stays"


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
