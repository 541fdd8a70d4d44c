"""`longhaul log`: the log of a run's guest."""

from __future__ import annotations

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import RunArgument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class LogOptions:
    """The options of `longhaul log`."""

    run: RunArgument


@command(app)
def log(options: LogOptions) -> None:
    """Print the log of the guest's kernel and modules in a run, kept or failed."""
    from longhaul.orchestrator.results.guest_logs import find_log
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.process import printable
    from longhaul.orchestrator.system.settings import load_settings

    with find_log(Store(load_settings()), options.run).open("rb") as file:
        while lines := file.readlines(2**20):
            # Without control sequences for the terminal.
            print(printable(b"".join(lines)), end="")
