"""The sandbox: one run in one User-Mode-Linux guest with virtual time, as an ordinary process of an ordinary user.

    this process --pipe--> guard (longhaul-agent) --ptrace--> guest kernel
                                                               `-- /init = longhaul-agent as PID 1

It promises that the same Run gives the same bytes: the kernel's command line depends on the Run alone (paths reach the
guest through its working directory and an inherited descriptor). It refuses to run without the kernel and agent it is
told to use, and names the death of a guest that ends before its work.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import threading
import time
from functools import cached_property
from pathlib import Path

from orchestrator.backends.base import Cost, Progress
from orchestrator.backends.complaints import first_complaint
from orchestrator.backends.cpus import claim_cpu
from orchestrator.backends.deaths import RETRYABLE, name_death
from orchestrator.backends.iperf3 import MISSING as IPERF3_MISSING
from orchestrator.backends.iperf3 import Iperf3, find_iperf3
from orchestrator.errors import BackendError, BackendUnavailable, GuestDied, KernelComplained, RunTimedOut
from orchestrator.iperf3 import IPERF3
from orchestrator.process import Guard, GuardReport, start_guard
from orchestrator.run import Module, Run
from orchestrator.settings import Settings
from orchestrator.toolchain import own_module
from orchestrator.trace import TraceTail

AGENT = Path(__file__).resolve().parent.parent / "agent" / "build" / "longhaul-agent"

# An arbitrary fixed instant, so that no date of the host enters a run: 14 November 2023.
_EPOCH_NS = 1_700_000_000_000_000_000
# How often the trace's end is looked at while a guest runs. Only people see this; the end of a run is noticed at once.
_LOOK_EVERY_S = 0.1


class Sandbox:
    """The virtual-time backend."""

    name = "sandbox"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._hashes: dict[Path, str] = {}
        self._brought: dict[tuple[str, str, str], Path] = {}
        self._building = threading.Lock()

    @cached_property
    def _iperf3(self) -> Iperf3 | None:
        return find_iperf3()

    def check(self, run: Run) -> list[tuple[str, str]]:
        missing = []
        if not AGENT.is_file():
            missing.append(("the agent", "run `make agent`"))
        if not (self._kernel(run) / "linux").is_file():
            missing.append((f"the sandbox kernel {run.kernel}", f"run `longhaul kernel build {run.kernel}`"))
        elif not (self._modules(run) / "lh_trace.ko").is_file():
            missing.append(
                (f"the kernel modules for {run.kernel}", f"run `longhaul modules build --kernel {run.kernel}`")
            )
        if _has_iperf3(run) and self._iperf3 is None:
            missing.append(IPERF3_MISSING)
        memory = self._settings.guest_memory_dir
        if os.statvfs(memory).f_flag & os.ST_NOEXEC:
            missing.append(
                (f"a {memory} without noexec", "set LONGHAUL_GUEST_MEMORY to a folder on a file system mounted exec")
            )
        return missing

    def identity(self, run: Run) -> dict[str, str]:
        missing = self.check(run)
        if missing:
            raise BackendUnavailable(self.name, missing)
        manifest = json.loads((self._kernel(run) / "manifest.json").read_text())
        found = {
            "kernel": manifest["hash"],
            "agent": self._hash(AGENT),
            "lh_trace": self._hash(self._module_file(run, Module("lh_trace", {}))),
        }
        for module in run.modules:
            if not module.builtin:
                found[module.name] = self._hash(self._module_file(run, module))
        if _has_iperf3(run) and self._iperf3 is not None:
            found["iperf3"] = self._iperf3.version
            found |= {place: self._hash(file) for place, file in self._iperf3.files.items()}
        return found

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        try:
            return self._attempt(run, directory, progress)
        except GuestDied as death:
            if death.cause not in RETRYABLE:
                raise
        cost = self._attempt(run, directory, progress)
        return Cost(cost.wall_s, cost.cpu_s, cost.max_rss_kb, retries=1)

    def _attempt(self, run: Run, directory: Path, progress: Progress) -> Cost:
        self._furnish(run, directory)
        with claim_cpu() as cpu:
            guard = start_guard(self._command(run, directory, cpu), directory / "log.txt", self._environment(directory))
            try:
                report = self._follow(run, directory, guard, progress)
            finally:
                guard.close()
        self._collect(run, directory, report)
        return Cost(report.wall_s, report.cpu_s, report.max_rss_kb)

    def _command(self, run: Run, directory: Path, cpu: int) -> list[str]:
        guard = [
            "guard",
            "--cpu",
            str(cpu),
            "--wall-s",
            str(self._settings.wall_limit_s),
            "--dir",
            str(directory),
            "--remove",
            "--",
        ]
        kernel = [
            str(self._kernel(run) / "linux"),
            f"mem={run.memory_mb}M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/proc/self/cwd/guest",
            "rw",
            "init=/init",
            "time-travel=inf-cpu",
            f"time-travel-start={_EPOCH_NS}",
            f"rng-seed={run.seed}",
            f"umid=lh-{os.urandom(8).hex()}",
            "con0=null,fd:1",
            "con=null",
            "ssl=null",
            "quiet",
            # Down to warnings: what the kernel reports about itself must reach the log (complaints.py).
            "loglevel=5",
            "panic=-1",
        ]
        return [str(AGENT), *guard, *kernel]

    def _environment(self, directory: Path) -> dict[str, str]:
        return {
            "HOME": str(directory / "home"),
            "TMPDIR": str(self._settings.guest_memory_dir),
            "PATH": "/usr/bin:/bin",
        }

    def _furnish(self, run: Run, directory: Path) -> None:
        """Lay out what the guest will see; nothing of an earlier attempt stays."""
        guest = directory / "guest"
        for folder in (guest, directory / "home"):
            shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(directory / IPERF3, ignore_errors=True)
        for file in ("trace.bin", "facts.json", "status.json", "log.txt"):
            (directory / file).unlink(missing_ok=True)
        for name in ("modules", "proc", "sys", "dev", "run"):
            (guest / name).mkdir(parents=True)
        (directory / "home").mkdir()
        _place(AGENT, guest / "init")
        _place(directory / "run.json", guest / "run.json")
        for module in (Module("lh_trace", {}), *run.modules):
            if not module.builtin:
                _place(self._module_file(run, module), guest / "modules" / f"{module.name}.ko")
        if _has_iperf3(run) and self._iperf3 is not None:
            (guest / IPERF3).mkdir()
            self._iperf3.copy_to(guest)

    def _follow(self, run: Run, directory: Path, guard: Guard, progress: Progress) -> GuardReport:
        tail = TraceTail(directory / "trace.bin")
        seen_ns, seen_at = -1, time.monotonic()
        while (report := guard.wait(_LOOK_EVERY_S)) is None:
            now_ns = tail.virtual_ns()
            if now_ns > seen_ns:
                seen_ns, seen_at = now_ns, time.monotonic()
                progress(now_ns)
            elif time.monotonic() - seen_at > self._settings.stall_limit_s:
                raise RunTimedOut(
                    "running guest",
                    run.experiment,
                    f"no virtual progress in {self._settings.stall_limit_s} s of wall time, at virtual {max(seen_ns, 0) / 1e9:.3f} s",
                    "raise LONGHAUL_STALL_LIMIT_S if the machine is only slow",
                )
        return report

    def _collect(self, run: Run, directory: Path, report: GuardReport) -> None:
        guest = directory / "guest"
        if report.reason == "wall_limit":
            raise RunTimedOut(
                "running guest",
                run.experiment,
                f"not finished after {self._settings.wall_limit_s} s of wall time",
                "shorten it, or raise LONGHAUL_WALL_LIMIT_S",
            )
        for name in ("facts.json", "status.json", IPERF3):
            with contextlib.suppress(FileNotFoundError):
                (guest / name).rename(directory / name)
        status = _read_status(directory / "status.json")
        if status is None:
            raise name_death(run.experiment, report, directory / "log.txt")
        if complaint := first_complaint(directory / "log.txt"):
            raise KernelComplained(
                "running guest", run.experiment, f"its kernel complained: {complaint}", "please report it with its log"
            )
        if status["status"] != "done":
            raise BackendError(status["attempting"], status["subject"], status["what"], status["hint"])
        shutil.rmtree(guest)
        shutil.rmtree(directory / "home")

    def _kernel(self, run: Run) -> Path:
        return self._settings.cache / "kernels" / f"current-{run.kernel}"

    def _modules(self, run: Run) -> Path:
        return self._settings.cache / "modules" / f"current-{run.kernel}"

    def _module_file(self, run: Run, module: Module) -> Path:
        if module.source:
            key = (run.kernel, module.source, module.name)
            with self._building:
                if key not in self._brought:
                    self._brought[key] = own_module(self._settings, *key)
            return self._brought[key]
        ours = self._modules(run) / f"{module.name}.ko"
        return ours if ours.is_file() else self._kernel(run) / "modules" / f"{module.name}.ko"

    def _hash(self, file: Path) -> str:
        if file not in self._hashes:
            try:
                self._hashes[file] = hashlib.sha256(file.read_bytes()).hexdigest()
            except FileNotFoundError as error:
                raise BackendUnavailable(self.name, [(str(file.name), "run `make kernel modules`")]) from error
        return self._hashes[file]


def _has_iperf3(run: Run) -> bool:
    return any(flow.tool == IPERF3 for flow in run.flows)


def _place(source: Path, target: Path) -> None:
    """A hard link where the file system allows one (it costs nothing), else a copy."""
    try:
        os.link(source.resolve(), target)
    except OSError:
        shutil.copy2(source, target)


def _read_status(file: Path) -> dict[str, str] | None:
    try:
        found: dict[str, str] = json.loads(file.read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return found
