"""Real Mininet: the plan's network with Mininet's own nodes and links, its traffic and trace by the same agent.

    in a guest:  guest kernel -> agent (PID 1) -> the host's files -> python3 mininet_net.py -> agent attach
    on a host:                            guard -> python3 mininet_net.py -> agent attach

A guest needs no rights on this machine, and its clock may be virtual. On a host everything is in namespaces that carry the
run's name; the next run removes those of a killed run, and nothing else is ever touched.
"""

from __future__ import annotations

import os
from pathlib import Path

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.guest import TRACE, Guests, growing_traces, has_iperf3, place
from longhaul.orchestrator.backends.guest_iperf3 import MISSING as IPERF3_MISSING
from longhaul.orchestrator.backends.mininet_host import furnish, missing_on_host, run_on_host
from longhaul.orchestrator.backends.programs import LOG, PYTHON, SHARED, write_program
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.system.errors import BackendUnavailable
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings

NET = Path(__file__).resolve().parent / "mininet_programs" / "mininet_net.py"

_MININET = Path("/usr/lib/python3/dist-packages/mininet/net.py")
_IPERF3 = Path("/usr/bin/iperf3")

# Mininet and the programs that it calls, each with Debian's package.
_TOOLS = (
    (PYTHON, "python3"),
    (str(_MININET), "mininet"),
    ("/usr/bin/mnexec", "mininet"),
    ("/usr/sbin/ifconfig", "net-tools"),
    ("/usr/sbin/ip", "iproute2"),
    ("/usr/bin/bash", "bash"),
)


class MininetBackend:
    """Real Mininet, in a guest (virtual or real time) or on this host as root (real time)."""

    name = "mininet"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._guests = Guests(settings, self.name, self._furnish)

    def check(self, run: Run) -> list[tuple[str, str]]:
        needed = [] if run.where == "host" else self._guests.missing(*run.kernels)
        return [*self._missing_programs(run), *needed]

    def identity(self, run: Run) -> dict[str, str]:
        if missing := self.check(run):
            raise BackendUnavailable(f"{self.name} --in {run.where}", missing)
        return self.programs(run) if run.where == "host" else self._guests.identity(run) | self.programs(run)

    def programs(self, run: Run) -> dict[str, str]:
        if missing := self._missing_programs(run):
            raise BackendUnavailable(f"{self.name} --in {run.where}", missing)
        net = {"mininet_net": self._guests.hash(NET), "mininet": self._guests.hash(_MININET)}
        if has_iperf3(run):
            net["iperf3"] = self._guests.hash(_IPERF3)
        if run.where == "host":
            return {"kernel": os.uname().release, "agent": self._guests.hash(AGENT)} | net
        return net

    def artefacts(self, run: Run) -> dict[str, Path]:
        return self._guests.artefacts(run) if run.where == "guest" else {}

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        return growing_traces(run, directory) if run.where == "guest" else [directory / TRACE]

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        if run.where == "guest":
            return self._guests.run(run, directory, progress)
        furnish(directory, NET)
        return run_on_host(run, directory, [PYTHON, str(directory / NET.name), "run"], self._settings, progress)

    @staticmethod
    def _missing_programs(run: Run) -> list[tuple[str, str]]:
        programs = [IPERF3_MISSING] if has_iperf3(run) and not _IPERF3.exists() else []
        return [*_missing_tools(), *programs, *(missing_on_host(run) if run.where == "host" else [])]

    def _furnish(self, run: Run, guest: Path) -> None:
        place(self._guests.agent, guest / "agent")
        place(NET, guest / NET.name)
        write_program(guest, [PYTHON, f"{SHARED}/{NET.name}", "run", SHARED, "guest"], LOG)


def _missing_tools() -> list[tuple[str, str]]:
    return [(file, f"run `apt-get install {package}`") for file, package in _TOOLS if not Path(file).exists()]
