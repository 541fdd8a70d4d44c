"""A shell in a guest of a run, whose virtual clock stands while the shell waits for input (kmod/lh_shell.c).

    this process --pseudo-terminal--> bash in the namespace of a host of the run, beside the agent that makes the run

The shell sees this machine's files read-only, like every program in a guest (programs.py), and the run's hosts by their names. It begins at a moment
of the run; `step` and `until` let the clock run (guest_shell.bash). The run itself is not kept: programs may have disturbed it.
"""

from __future__ import annotations

import json
import os
import tty
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.cpus import claim_cpu
from longhaul.orchestrator.backends.fence import is_fenced
from longhaul.orchestrator.backends.guest import Guests
from longhaul.orchestrator.backends.guest_root import place
from longhaul.orchestrator.backends.programs import SHARED, program_document, read_exit_code, terminal
from longhaul.orchestrator.backends.shell.reach import MOST_HOSTS, missing_paths
from longhaul.orchestrator.plan.run import Module, Run
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.guard import Guard, GuardReport
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

_MODULE = "lh_shell"
_COMMANDS = Path(__file__).resolve().parent / "guest_shell.bash"
_BASH = "/bin/bash"
# What bash and its programs take beside the run.
_MORE_MEMORY_MB = 256
# Of the parameters of a module (agent/net/modules.c).
_LONGEST_PARAMETER = 900
# A shell may stay open for as long as the user likes.
_YEAR_S = 31_536_000
# The exit code with which `finish` lets the run continue (agent/guest/shell.c).
FINISH = 113


@dataclass(frozen=True, slots=True)
class ShellRequest:
    """Where and when a shell begins: a host of the run, an instant, and a condition to wait for after it; the size of its terminal."""

    host: str
    at_ns: int = 0
    until: str = ""
    rows: int = 24
    columns: int = 80
    edited: bool = True


@dataclass(frozen=True, slots=True)
class OpenShell:
    """A running guest with a shell, this process's end of its terminal, and the run as the guest has it."""

    guests: Guests
    run: Run
    directory: Path
    guard: Guard
    terminal_fd: int

    def end(self, report: GuardReport) -> Cost | None:
        """The cost of a guest that has ended, with its files, if its run came to its end; None if the user left it; the error of any other end."""
        code = read_exit_code(self.directory / "guest")
        if code is not None and code != FINISH:
            return None
        self.guests.collect(self.run, self.directory, report, None)
        return Cost(report.wall_s, report.cpu_s, report.max_rss_kb)


def check_shell(settings: Settings, run: Run, request: ShellRequest) -> None:
    """PlanError if this run cannot have such a shell."""
    attempting, subject = "opening a shell in", run.experiment
    if run.backend != "sandbox" or run.clock != "virtual":
        what = f"the run is on {run.backend} in {run.clock} time, and a clock that stands is the sandbox's"
        raise PlanError(attempting, subject, what, "use the backend sandbox; for Mininet's prompt, longhaul mininet")
    if run.parts is not None and run.parts.alters:
        what = f"the run is in {run.parts.number} guests whose trace one guest does not have"
        raise PlanError(attempting, subject, what, "give all hosts one kernel and parts: 1")
    if is_fenced(run, settings):
        what = "it loads code of a user, which a guest runs confined, and a shell needs this machine's files"
        raise PlanError(attempting, subject, what, "if you trust that code, set LONGHAUL_CONFINEMENT=off")
    if not (settings.modules(run.kernel) / f"{_MODULE}.ko").is_file():
        what = f"a patch of the sandbox that a shell needs does not apply to the kernel {run.kernel}"
        raise PlanError(attempting, subject, what, "use another kernel")
    if len(_links(run)) > _LONGEST_PARAMETER:
        what = f"the names of its {len(run.links)} queues are too long together"
        raise PlanError(attempting, subject, what, "give its nodes shorter names")
    if request.host not in (names := [node.name for node in run.nodes]):
        raise PlanError(attempting, subject, f"the run has no host {request.host}", f"known: {', '.join(names[:40])}")
    if request.at_ns >= run.duration_us * 1000:
        what = f"{request.at_ns / 1e9:g} s is not before the end of the run, {run.duration_us / 1e6:g} s"
        raise PlanError(attempting, subject, what, "name an earlier instant")


@contextmanager
def opened_shell(guests: Guests, run: Run, directory: Path, request: ShellRequest) -> Iterator[OpenShell]:
    """Start the run in one guest, with a shell; both end with the context."""
    run = _with_clock(run)
    (directory / "run.json").write_text(json.dumps(run.as_json()))
    guests.furnish(run, directory)
    _write_shell(directory / "guest", run, request)
    console = terminal(request.rows, request.columns)
    with ExitStack() as held:
        ours, theirs = os.openpty()
        for end in (ours, theirs):
            held.callback(os.close, end)
        tty.setraw(theirs)
        guard = guests.start(
            directory,
            held.enter_context(claim_cpu()),
            replace(run, memory_mb=run.memory_mb + _MORE_MEMORY_MB),
            consoles=console.arguments,
            guarding=console.guarding,
            wall_s=_YEAR_S,
            terminal=theirs,
        )
        held.callback(guard.close)
        yield OpenShell(guests, run, directory, guard, ours)


def _links(run: Run) -> str:
    return ",".join(link.dev for link in run.links)


def _with_clock(run: Run) -> Run:
    params = {"links": _links(run)} if run.links else {}
    return replace(run, parts=None, capture=None, modules=(*run.modules, Module(_MODULE, params)))


def _write_shell(guest: Path, run: Run, request: ShellRequest) -> None:
    place(_COMMANDS, guest / _COMMANDS.name)
    (guest / "host").mkdir(exist_ok=True)
    # Programs choose their ports themselves.
    ports = {flow.id: 0 if flow.kind == "program" else flow.port for flow in run.flows}
    (guest / "flows").write_text("".join(f"{flow.name} {flow.id} {ports[flow.id]}\n" for flow in run.flows))
    (guest / "reach").mkdir()
    for node, lines in _reach(run).items():
        (guest / "reach" / node).write_text("".join(f"{line}\n" for line in lines))
    devices = {end.node: end.dev for end in run.ends}
    document = {
        "program": _bash(request),
        "nodes": [{"name": node.name, "dev": devices[node.name]} for node in run.nodes if node.name in devices],
        "at": request.host,
        "hosts": _hosts(run),
    }
    (guest / "shell.json").write_text(json.dumps(document))


def _bash(request: ShellRequest) -> dict[str, Any]:
    arguments = [_BASH, *([] if request.edited else ["--noediting"]), "--rcfile", f"{SHARED}/{_COMMANDS.name}", "-i"]
    environment = {
        "LONGHAUL_HOST": request.host,
        "LONGHAUL_AT_NS": str(request.at_ns),
        "LONGHAUL_UNTIL": request.until,
        "LONGHAUL_EDITED": "yes" if request.edited else "",
    }
    console = terminal(request.rows, request.columns)
    return program_document(arguments, console, environment=[f"{name}={value}" for name, value in environment.items()])


def _reach(run: Run) -> dict[str, list[str]]:
    """Lines for `ip -batch` in each host, so that it reaches every other one; none in nets of very many hosts."""
    lines: dict[str, list[str]] = {}
    if sum(not node.bridge for node in run.nodes) > MOST_HOSTS:
        return lines
    neighbours, routes = missing_paths(run)
    for one in neighbours:
        lines.setdefault(one.node, []).append(
            f"neigh replace {one.address} lladdr {one.mac} dev {one.dev} nud permanent"
        )
    for route in routes:
        lines.setdefault(route.node, []).append(f"route add {route.to} via {route.via}")
    return lines


def _hosts(run: Run) -> str:
    """The text of /etc/hosts: each host's first address."""
    lines = ["127.0.0.1 localhost"]
    for node in run.nodes:
        addresses = [end.address for end in run.ends if end.node == node.name and end.address]
        lines += [f"{address.partition('/')[0]} {node.name}" for address in addresses[:1]]
    return "\n".join([*lines, ""])
