"""Real Mininet: the plan's network with Mininet's own nodes and links, its traffic and trace by the same agent.

    in a guest:  guest kernel -> agent (PID 1) -> the host's files -> python3 mininet_net.py -> agent attach
    on a host:                            guard -> python3 mininet_net.py -> agent attach

A guest needs no rights on this machine, and its clock may be virtual. On a host everything is in namespaces that carry the
run's name; the next run removes those of a killed run, and nothing else is ever touched.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.guest import TRACE, Guests, growing_traces, has_iperf3
from longhaul.orchestrator.backends.guest_iperf3 import MISSING as IPERF3_MISSING
from longhaul.orchestrator.backends.guest_root import place
from longhaul.orchestrator.backends.mininet_host import furnish, missing_on_host, run_on_host
from longhaul.orchestrator.backends.originals import retain
from longhaul.orchestrator.backends.programs import LOG, PYTHON, SHARED, write_program
from longhaul.orchestrator.backends.scripts.observed_run import observe
from longhaul.orchestrator.backends.scripts.run_script import STARTER, Output, clear, modules_of_script, run_script
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.system.built_kernels import manifest_of
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
        # Where a script's output goes as it comes; it is kept with the run, too.
        self.script_output: Output | None = None
        self.guests = Guests(settings, self.name, self._furnish)

    def check(self, run: Run) -> list[tuple[str, str]]:
        needed = [] if run.where == "host" else self.guests.missing(*run.kernels)
        return [*self._missing_programs(run), *needed]

    def identity(self, run: Run) -> dict[str, str]:
        if missing := self.check(run):
            raise BackendUnavailable(f"{self.name} --in {run.where}", missing)
        if run.script is not None:
            return self._identity_of_script(run)
        return self.programs(run) if run.where == "host" else self.guests.identity(run) | self.programs(run)

    def _identity_of_script(self, run: Run) -> dict[str, str]:
        """It may use any congestion control, so all of them are one part. Programs that it starts are no part."""
        modules = modules_of_script(self.guests, run.kernel, run.clock)
        every = "".join(f"{module.name} {self.guests.hash(module)}\n" for module in modules)
        guest = {name: value for name, value in self.guests.identity(run).items() if name != "lh_trace"}
        return guest | {
            "script_modules": hashlib.sha256(every.encode()).hexdigest(),
            "mininet_script": self.guests.hash(STARTER),
            "mininet": self.guests.hash(_MININET),
        }

    def programs(self, run: Run) -> dict[str, str]:
        if missing := self._missing_programs(run):
            raise BackendUnavailable(f"{self.name} --in {run.where}", missing)
        net = {"mininet_net": self.guests.hash(NET), "mininet": self.guests.hash(_MININET)}
        if has_iperf3(run):
            net["iperf3"] = self.guests.hash(_IPERF3)
        if run.where == "host":
            return {"kernel": os.uname().release, "agent": self.guests.hash(AGENT)} | net
        return net

    def artefacts(self, run: Run) -> dict[str, Path]:
        return self.guests.artefacts(run) if run.where == "guest" else {}

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        return growing_traces(run, directory) if run.where == "guest" else [directory / TRACE]

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        if run.script is not None:
            return self._run_script(run, directory)
        if run.where == "guest":
            return self.guests.run(run, directory, progress)
        furnish(directory, NET)
        return run_on_host(run, directory, [PYTHON, str(directory / NET.name), "run"], self._settings, progress)

    def _run_script(self, run: Run, directory: Path) -> Cost:
        retain(self.guests.agent, self._settings)
        cost = run_script(self.guests, run, directory, self.script_output)
        release = manifest_of(self._settings.kernel(run.kernel))["kernelrelease"]
        observed = observe(run, directory / "guest", directory, release)
        (directory / "run.json").write_text(json.dumps(observed.as_json()))
        (directory / "status.json").write_text(json.dumps({"status": "done"}))
        clear(directory)
        return cost

    @staticmethod
    def _missing_programs(run: Run) -> list[tuple[str, str]]:
        programs = [IPERF3_MISSING] if has_iperf3(run) and not _IPERF3.exists() else []
        return [*_missing_tools(), *programs, *(missing_on_host(run) if run.where == "host" else [])]

    def _furnish(self, run: Run, guest: Path) -> None:
        place(self.guests.agent, guest / "agent")
        place(NET, guest / NET.name)
        write_program(guest, [PYTHON, f"{SHARED}/{NET.name}", "run", SHARED, "guest"], LOG)


def _missing_tools() -> list[tuple[str, str]]:
    return [(file, f"run `apt-get install {package}`") for file, package in _TOOLS if not Path(file).exists()]
