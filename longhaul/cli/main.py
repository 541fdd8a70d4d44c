"""`longhaul`: the commands by name, each loaded on first use, and one handler for every error."""

from __future__ import annotations

import atexit
import gc
import json
import signal
import sys
from collections import UserDict
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand

from longhaul.cli.help_lines import HELP_LINES
from longhaul.cli.terminal.crashes import check_room, unforeseen
from longhaul.cli.terminal.options import VersionOption
from longhaul.cli.terminal.parameters import Group
from longhaul.orchestrator.system.errors import LonghaulError, PlanError, visible
from longhaul.orchestrator.system.files import STANDARD_OUTPUT, standard_output

# The module of each command: one verb, or a group of verbs.
COMMANDS = {
    "demo": "experiments.demo",
    "new": "experiments.new",
    "run": "experiments.run",
    "plan": "experiments.plan",
    "compare": "experiments.compare",
    "reproduce": "experiments.reproduce",
    "tune": "experiments.tune",
    "search": "experiments.search",
    "predict": "experiments.predict",
    "bisect": "experiments.bisect",
    "mininet": "experiments.mininet",
    "shell": "experiments.shell",
    "explain": "experiments.explain",
    "list": "runs.list",
    "show": "runs.show",
    "log": "runs.log",
    "report": "runs.report",
    "explore": "runs.explore",
    "query": "runs.query",
    "export": "runs.export",
    "rerun": "runs.rerun",
    "verify": "runs.verify",
    "pin": "runs.pin",
    "annotate": "runs.annotate",
    "prune": "runs.prune",
    "backup": "runs.backup",
    "restore": "runs.restore",
    "doctor": "machine.doctor",
    "completion": "machine.completion",
    "new-module": "machine.new_module",
    "modules": "machine.modules",
    "kernel": "machine.kernel",
    "agent": "machine.agent",
    "hosts": "machine.hosts",
    "recordings": "machine.recordings",
    "serve": "service.serve",
    "worker": "service.worker",
    "token": "service.token",
    "baseline": "service.baseline",
    "notification": "service.notification",
}


class _Commands(UserDict[str, Any]):
    """The commands by name; a command's module is imported on first use."""

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = typer.main.get_command(import_module(f"longhaul.cli.{COMMANDS[name]}").app)
            self.data[name].name = name
        return self.data[name]


class _Root(Group):
    def __init__(self, **settings: Any) -> None:
        super().__init__(**{**settings, "commands": _Commands(dict.fromkeys(COMMANDS))})
        self._listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in order; typer's own loads each."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; in a list only its name and help, for which its module is not loaded."""
        if self._listing and cmd_name in HELP_LINES:
            return TyperCommand(cmd_name, help=HELP_LINES[cmd_name])
        return super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list of commands in the help."""
        with self._listed():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The commands and options that a shell offers."""
        with self._listed():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listed(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False


app = typer.Typer(
    name="longhaul",
    help="A congestion-control laboratory: real Linux TCP over long fast paths, in virtual time.",
    cls=_Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _options(shown: VersionOption = False) -> None:
    pass


def main() -> None:
    """The entry point."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    # A process that ends need not look for garbage.
    atexit.register(gc.freeze)
    try:
        with standard_output():
            _run_command()
    except LonghaulError as error:
        # Standard output cannot be written.
        print(f"longhaul: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


def _run_command() -> None:
    """One handler for every error, each with its exit code; an unexpected error has 4, never 1."""
    try:
        check_room()
        app(standalone_mode=True)
    except LonghaulError as error:
        _end(error)
    except OSError as error:
        if error.filename == STANDARD_OUTPUT:
            raise
        if error.filename is None:
            _end(unforeseen(error))
        # A file that the user named.
        _end(PlanError("opening", str(error.filename), error.strerror or str(error), "name another file"))
    except KeyboardInterrupt:
        print("longhaul: cancelled; finished runs are kept", file=sys.stderr)
        sys.exit(130)
    except UnicodeEncodeError as error:
        # Python reads such bytes of an argument as surrogates. A file's name may have them, a value may not.
        if not any("\udc80" <= sign <= "\udcff" for sign in "".join(sys.argv)):
            _end(unforeseen(error))
        _end(PlanError("reading", "the arguments", "a value has bytes that are not UTF-8", "write it in UTF-8"))
    except Exception as error:  # exit code 1 would mean a failed expectation
        _end(unforeseen(error))


def _end(error: LonghaulError) -> NoReturn:
    _print_error(error)
    sys.exit(error.exit_code)


def _print_error(error: LonghaulError) -> None:
    if "--json" in sys.argv:
        print(json.dumps({"error": error.as_dict()}))
    for line in str(error).splitlines():
        print(f"longhaul: {visible(line)}", file=sys.stderr)


if __name__ == "__main__":
    main()
