"""`longhaul shell`: a shell in a guest of a run, at a moment of its virtual time."""

from __future__ import annotations

import shlex
import shutil
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import SeedOption, SetOption
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.laboratory.shells import Finished, ShellSession

app = verb_app()


@dataclass(frozen=True)
class ShellOptions:
    """The options of `longhaul shell`."""

    subject: Annotated[
        str,
        typer.Argument(
            metavar="EXPERIMENT|RUN", help="An experiment, whose first run it opens, or the id of a kept run."
        ),
    ]
    at: Annotated[str, typer.Option(metavar="TIME", help="The virtual time at which the shell opens, as in 12s.")] = (
        "0s"
    )
    until: Annotated[
        str, typer.Option(metavar="CONDITION", help="What to wait for after that, as in drop or 'cwnd<10'.")
    ] = ""
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help="The host of the shell; by default the first sender.")
    ] = None
    changes: SetOption = None
    seed: SeedOption = None


@command(app)
def shell(options: ShellOptions) -> int:
    """Open a shell with ss, tc, ping and tcpdump in a run whose virtual clock stands; `help` in it lists how to let it run."""
    if sys.stdin.isatty():
        return _at_terminal(options)
    return _from_input(options)


def _at_terminal(options: ShellOptions) -> int:
    from longhaul.laboratory.shells import open_session
    from longhaul.orchestrator.backends.consoles import raw_terminal, relay_terminal
    from longhaul.orchestrator.backends.shell.guest_shell import ShellRequest

    columns, rows = shutil.get_terminal_size()
    request = ShellRequest("", until=options.until, rows=rows, columns=columns)
    with open_session(
        options.subject, at=options.at, host=options.host, set=options.changes or [], seed=options.seed, request=request
    ) as session:
        print(f"{session.run.title}: the clock stands at the prompt; help lists the commands", file=sys.stderr)
        with raw_terminal():
            report = relay_terminal(session.opened.guard, session.opened.terminal_fd)
        if (cost := session.opened.end(report)) is not None:
            _print_finished(session, session.finished(cost))
    return 0


def _from_input(options: ShellOptions) -> int:
    """Run each line of the input as a command; the exit code of the last one."""
    from longhaul.laboratory.shells import Shell, open_session

    with open_session(
        options.subject, at=options.at, host=options.host, set=options.changes or [], seed=options.seed
    ) as session:
        opened, code = Shell(session), 0
        if options.until:
            print(opened.until(options.until).output, end="", flush=True)
        for line in sys.stdin:
            verb, _, rest = line.strip().partition(" ")
            if verb == "exit":
                break
            if verb == "finish":
                _print_finished(session, opened.finish())
                return 0
            looked = opened.run(f"until {shlex.quote(rest)}" if verb == "until" else line.strip())
            print(looked.output, end="", flush=True)
            code = looked.code
        return code


def _print_finished(session: ShellSession, finished: Finished) -> None:
    from longhaul.cli.terminal.output import show_measured
    from longhaul.laboratory.kept_traces import KeptTraces
    from longhaul.results.run import Run

    show_measured(Run(finished.document, KeptTraces(session.store)))
    if finished.undisturbed is None:
        line = f"not kept, and neither is the run without a shell, {session.key}: its trace is compared with nothing"
    elif finished.undisturbed:
        line = f"its trace is that of run {session.key}, to the byte"
    else:
        line = f"its trace differs from that of run {session.key}: commands sent packets or changed the net"
    print(line)
