"""Confinement of a guest that loads a user-supplied module, or whose kernel an admin sent to the service.

A guest is no security boundary: its kernel is a process of this machine, and a module in it may make this machine's system calls. So the
whole guest runs confined (confinement.py). It sees the system's programs, its kernel and its own root, and writes only its root, its log and
its trace. The guard stays outside and ends it like any guest.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.built_kernels import is_sent
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.guard import GuardReport
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.untrusted_folder import check_size, discard, hand_over, take_out

# The memory of a guest's kernel besides the guest's RAM.
_MORE_MEMORY_BYTES = 2**30
_MORE_RAM_BYTES = 64 * 2**20
_HOME_BYTES = 2**20
# Folders that a program of the host finds empty in a guest (agent/guest/program.c).
_MININETS_FOLDERS = ("/tmp", "/var/tmp", "/sys")  # noqa: S108
# A guest has one processor, so its processor time is at most its wall time, which the guard limits.
_MOST_TRACE_BYTES = 8 * 2**30
_MOST_DOCUMENT_BYTES = 64 * 2**20
# Every process of a guest counts here; programs of iperf3 and shells of Mininet's nodes are the most there are.
_PROCESSES = 64
_PROCESSES_EACH = 4
_LOOK_EVERY_S = 1.0


def is_fenced(run: Run, settings: Settings) -> bool:
    """Whether user-supplied code runs in this run's guest."""
    return has_sent_kernel(run, settings) or (settings.confinement and any(module.source for module in run.modules))


def has_sent_kernel(run: Run, settings: Settings) -> bool:
    """Whether an admin sent the kernel of this run's guest."""
    return run.where == "guest" and is_sent(settings.kernel(run.kernel))


def unconfined(command: Sequence[str]) -> list[str]:
    """The command that starts a kernel without confinement; BackendError if an admin sent the kernel, whatever its name was when the caller looked."""
    kernel = Path(command[0]).parent
    if is_sent(kernel):
        what = "an admin sent this kernel to the service, and it would not be confined here"
        raise BackendError(
            "starting", f"kernel {kernel.name}", what, "name another kernel, or run the experiment again"
        )
    return [*command]


class Fence:
    """The confinement of one guest; `directory` is the run's, `kernel` the folder of the guest's kernel."""

    def __init__(self, run: Run, directory: Path, kernel: Path, settings: Settings) -> None:
        self._run = run
        self._directory = directory
        self._guest = directory / "guest"
        self._kernel = kernel
        self._settings = settings
        self._next_look_s = 0.0

    def command(self, command: Sequence[str]) -> list[str]:
        """Hand over the guest's root; the command that starts its kernel confined."""
        ram_bytes = self._run.memory_mb * 2**20
        view = View(
            reads={"/linux": self._kernel / "linux"},
            writes={"/run/guest": self._guest},
            scratch={"/home": _HOME_BYTES, "/memory": ram_bytes + _MORE_RAM_BYTES},
            environment={"HOME": "/home", "TMPDIR": "/memory", "PATH": "/usr/bin:/bin"},
            folders=_MININETS_FOLDERS if self._run.backend == "mininet" else (),
            folder="/run",
        )
        limits = Limits(
            cpu_s=self._settings.wall_limit_s,
            file_bytes=max(_MOST_TRACE_BYTES, ram_bytes),
            processes=_PROCESSES + _PROCESSES_EACH * (len(self._run.nodes) + len(self._run.flows)),
            # The configuration of a sent kernel is what its build says it is.
            memory_bytes=None
            if _has_shadow(self._kernel) and not is_sent(self._kernel)
            else ram_bytes + _MORE_MEMORY_BYTES,
        )
        command = confined(["/linux", *command[1:]], view, limits, self._settings)
        hand_over(self._guest)
        return command

    def check_written(self) -> None:
        """Raise if the guest has written too much: the kernel limits each file, but not their sum."""
        if (now_s := time.monotonic()) < self._next_look_s:
            return
        self._next_look_s = now_s + _LOOK_EVERY_S
        check_size(self._guest, _MOST_TRACE_BYTES, self._run.experiment)

    def copy_results(self, names: Sequence[str]) -> None:
        """Copy these results out of the root of a guest that has ended."""
        try:
            for name in names:
                most_bytes = _MOST_DOCUMENT_BYTES if name.endswith(".json") else _MOST_TRACE_BYTES
                take_out(self._guest, name, self._directory, most_bytes)
        except OSError as error:
            raise BackendError(
                "copying results out of the guest", self._run.experiment, error.strerror or str(error)
            ) from error

    def clear(self) -> None:
        """Remove what is left of the guest's root."""
        discard(self._guest)


def _has_shadow(kernel: Path) -> bool:
    """Whether this kernel reserves an eighth of all addresses for its own use (KASAN)."""
    return "CONFIG_KASAN=y" in (kernel / "config").read_text().splitlines()


def real_end(report: GuardReport) -> GuardReport:
    """How the guest itself ended: bubblewrap reports a signal as an exit code above 128."""
    number = (report.exit_code or 0) - 128
    return replace(report, exit_code=None, signal=number) if number in set(signal.Signals) else report
