"""Guests: User-Mode-Linux kernels as ordinary processes, for every use.

    this process --pipe--> guard (longhaul-agent) --ptrace--> guest kernel
                                                               `-- /init = longhaul-agent as PID 1

It promises that the same Run in virtual time gives the same bytes: the kernel's command line depends on the Run alone (paths
reach the guest through its working directory and inherited descriptors). It refuses to run without the configured kernel and
agent, and names the cause when a guest dies before its end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.cpus import claim_cpu
from longhaul.orchestrator.backends.deaths import RETRYABLE, check_log, name_death
from longhaul.orchestrator.backends.fence import Fence, is_fenced, real_end, unconfined
from longhaul.orchestrator.backends.guest_parts import missing_parts
from longhaul.orchestrator.backends.kernel_log import first_complaint
from longhaul.orchestrator.backends.programs import LOG
from longhaul.orchestrator.backends.stalls import Stall
from longhaul.orchestrator.kernels.built_kernels import checked_program, manifest_of
from longhaul.orchestrator.plan.kernel_names import in_kernel_names
from longhaul.orchestrator.plan.run import Module, Progress, Run
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.system.errors import (
    BackendError,
    BackendUnavailable,
    GuestDied,
    KernelComplained,
    RunTimedOut,
)
from longhaul.orchestrator.system.guard import Guard, GuardReport, start_guard
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings

# An arbitrary fixed instant, so that no date of the host enters a run: 14 November 2023.
_EPOCH_NS = 1_700_000_000_000_000_000
# How often the trace's end is read while a guest runs. It only updates the shown progress; the end of a run is noticed at once.
_LOOK_EVERY_S = 0.1

# The time that Mininet may take per node, with its shell and links, before a trace exists.
_SET_UP_S_PER_NODE = 5.0

TRACE = "trace.bin"
# Files that a guest leaves in its root.
_LEFT = ("facts.json", "status.json", TRACE, IPERF3)

Furnish = Callable[[Run, Path], None]


class Guests:
    """The files of guests on this machine, and how a guest runs a Run."""

    def __init__(self, settings: Settings, backend: str, furnish_more: Furnish = lambda run, guest: None) -> None:
        self._settings = settings
        self._backend = backend
        self._furnish_more = furnish_more
        self._hashes: dict[Path, str] = {}
        self._user_modules: dict[tuple[str, str, str], Path] = {}
        self._building = threading.Lock()

    @property
    def agent(self) -> Path:
        """The agent: first process of a guest, and its guard outside."""
        return self._settings.agent or AGENT

    def artefacts(self, run: Run) -> dict[str, Path]:
        """The files of this run's guest by their names in a cache, and the agent."""
        cache, kernel = self._settings.cache, self._settings.kernel(run.kernel)
        found = {"agent": self.agent}
        found |= {str(kernel.relative_to(cache) / name): kernel / name for name in ("linux", "manifest.json", "config")}
        for module in [Module("lh_trace", {}), *self._loaded(run)]:
            file = self._module_file(run, module)
            found[f"own/{module.source}/{file.name}" if module.source else str(file.relative_to(cache))] = file
        return found

    def missing(self, kernel: str) -> list[tuple[str, str]]:
        """Every missing piece, each with the command that provides it."""
        return missing_parts(self._settings, self.agent, kernel)

    def identity(self, run: Run) -> dict[str, str]:
        """Hashes of the kernel, the agent and the modules that this run loads."""
        return {
            "kernel": manifest_of(self._settings.kernel(run.kernel))["hash"],
            "agent": self.hash(self.agent),
            **{module.name: self.hash(self._module_file(run, module)) for module in self._loaded(run)},
        }

    @staticmethod
    def _loaded(run: Run) -> list[Module]:
        probe = [Module("lh_trace", {})] if run.clock == "virtual" else []
        return probe + [module for module in run.modules if not module.builtin]

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        """Run it in a guest; a death that is independent of the experiment is retried once."""
        from longhaul.orchestrator.backends.originals import retain

        retain(self.agent, self._settings)
        try:
            return self._attempt(run, directory, progress)
        except GuestDied as death:
            if death.cause not in RETRYABLE:
                raise
        cost = self._attempt(run, directory, progress)
        return Cost(cost.wall_s, cost.cpu_s, cost.max_rss_kb, retries=1)

    def _attempt(self, run: Run, directory: Path, progress: Progress) -> Cost:
        self._furnish(run, directory)
        fence = None
        if is_fenced(run, self._settings):
            fence = Fence(run, directory, self._settings.kernel(run.kernel).resolve(), self._settings)
        with claim_cpu() as cpu:
            guard = self.start(
                directory,
                cpu,
                run.kernel,
                run.memory_mb,
                run.seed,
                virtual=run.clock == "virtual",
                consoles=LOG.arguments,
                fence=fence,
            )
            try:
                trace = growing_traces(run, directory)[0]
                set_up_s = _SET_UP_S_PER_NODE * len(run.nodes) if run.backend == "mininet" else 0.0
                with log_left(guard):
                    check = fence.check_written if fence else None
                    report = follow(run, trace, guard, self._settings, progress, set_up_s, check)
                self._collect(run, directory, report, fence)
            finally:
                guard.close()
                if fence:
                    fence.clear()
        return Cost(report.wall_s, report.cpu_s, report.max_rss_kb)

    def start(
        self,
        directory: Path,
        cpu: int,
        kernel: str,
        memory_mb: int,
        seed: int,
        *,
        virtual: bool,
        consoles: Sequence[str],
        guarding: Sequence[str] = (),
        wall_s: int | None = None,
        terminal: int | None = None,
        fence: Fence | None = None,
    ) -> Guard:
        """A guest whose root is `directory`/guest, under its guard, and confined if a fence is given."""
        guard = ["guard", "--cpu", str(cpu), "--wall-s", str(wall_s or self._settings.wall_limit_s), *guarding]
        command = [
            str(checked_program(self._settings, kernel)),
            f"mem={memory_mb}M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/proc/self/cwd/guest",
            "rw",
            "init=/init",
            *(("time-travel=inf-cpu", f"time-travel-start={_EPOCH_NS}") if virtual else ()),
            f"rng-seed={seed}",
            f"umid=lh-{os.urandom(8).hex()}",
            *consoles,
            "ssl=null",
            "quiet",
            # Down to warnings: the kernel's reports about itself must reach the log (kernel_log.py).
            "loglevel=5",
            "panic=-1",
        ]
        environment = {
            "HOME": str(directory / "home"),
            "TMPDIR": str(self._settings.guest_memory_dir),
            "PATH": "/usr/bin:/bin",
        }
        command = fence.command(command) if fence else unconfined(command)
        arguments = [str(self.agent), *guard, "--dir", str(directory), "--remove", "--", *command]
        return start_guard(arguments, directory / "log.txt", environment, terminal)

    def _furnish(self, run: Run, directory: Path) -> None:
        """Lay out the guest's files; remove those of an earlier attempt."""
        shutil.rmtree(directory / IPERF3, ignore_errors=True)
        for file in ("trace.bin", "facts.json", "status.json", "log.txt"):
            (directory / file).unlink(missing_ok=True)
        guest = make_root(directory, self.agent)
        if (named := in_kernel_names(run)) is run:
            place(directory / "run.json", guest / "run.json")
        else:
            (guest / "run.json").write_text(json.dumps(named.as_json()))
        self.furnish_modules(run, guest)
        if has_iperf3(run):
            (guest / IPERF3).mkdir()
        self._furnish_more(run, guest)

    def furnish_modules(self, run: Run, guest: Path) -> None:
        """Put the modules of a run where the guest's agent finds them."""
        for module in self._loaded(run):
            place(self._module_file(run, module), guest / "modules" / f"{module.name}.ko")

    def congestion_controls(self, kernel: str) -> list[Path]:
        """Every module of a congestion control, for programs that choose one themselves; a project's module hides the kernel's."""
        folders = (self._settings.kernel(kernel) / "modules", self._settings.modules(kernel))
        return sorted({file.name: file for folder in folders for file in folder.glob("tcp_*.ko")}.values())

    def _collect(self, run: Run, directory: Path, report: GuardReport, fence: Fence | None) -> None:
        guest = directory / "guest"
        if fence:
            fence.copy_results(_LEFT)
            fence.clear()
            report = real_end(report)
        for name in _LEFT:
            with contextlib.suppress(FileNotFoundError):
                (guest / name).rename(directory / name)
        self._note_kernel(run, directory)
        try:
            check_log(run.experiment, directory / "log.txt")
            check_end(run, directory, report)
        except (GuestDied, KernelComplained) as error:
            from longhaul.orchestrator.backends.module_crashes import explain

            explain(error, run, directory / "log.txt", self._settings)
            raise
        shutil.rmtree(guest, ignore_errors=fence is not None)
        shutil.rmtree(directory / "home")

    def _note_kernel(self, run: Run, directory: Path) -> None:
        """The parts of a kernel with a name belong to the facts of a run."""
        parts = manifest_of(self._settings.kernel(run.kernel)).get("parts")
        if parts is not None and (directory / "facts.json").is_file():
            facts = json.loads((directory / "facts.json").read_text())
            (directory / "facts.json").write_text(json.dumps(facts | {"kernel_parts": parts}))

    def _module_file(self, run: Run, module: Module) -> Path:
        if module.source:
            # Loaded for user-supplied modules alone, as it takes as long as starting a guest.
            from longhaul.orchestrator.kernels.build import own_module

            key = (run.kernel, module.source, module.name)
            with self._building:
                if key not in self._user_modules:
                    self._user_modules[key] = own_module(self._settings, *key, module)
            return self._user_modules[key]
        ours = self._settings.modules(run.kernel) / f"{module.name}.ko"
        return ours if ours.is_file() else self._settings.kernel(run.kernel) / "modules" / f"{module.name}.ko"

    def hash(self, file: Path) -> str:
        """The SHA-256 of a file, as 64 hexadecimal digits."""
        if file not in self._hashes:
            try:
                self._hashes[file] = hashlib.sha256(file.read_bytes()).hexdigest()
            except FileNotFoundError as error:
                raise BackendUnavailable(
                    self._backend,
                    [
                        (
                            str(file.name),
                            "run `longhaul agent build`, `longhaul kernel build` and `longhaul modules build`",
                        )
                    ],
                ) from error
        return self._hashes[file]


def growing_traces(run: Run, directory: Path) -> list[Path]:
    """Paths of a guest's trace: a probe writes through an inherited descriptor, a sampling agent to the only folder it sees; that file is moved later."""
    moved = directory / TRACE
    return [moved] if run.clock == "virtual" else [directory / "guest" / TRACE, moved]


def has_iperf3(run: Run) -> bool:
    """Whether iperf3 generates the traffic of a flow."""
    return any(flow.tool == IPERF3 for flow in run.flows)


def make_root(directory: Path, agent: Path | None = None) -> Path:
    """The folder that becomes a guest's root, new, with the agent as its first process."""
    guest, home = directory / "guest", directory / "home"
    for folder in (guest, home):
        # An earlier attempt may have left them.
        if folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
    for folder in (guest, home, *(guest / name for name in ("modules", "proc", "sys", "dev", "run"))):
        folder.mkdir(parents=True)
    place(agent or AGENT, guest / "init")
    return guest


@contextlib.contextmanager
def log_left(guard: Guard) -> Iterator[None]:
    """End the guest with the context. Its log is kept also if the guest does not end by itself, when its guard removes its folder."""
    log = guard.directory / "log.txt"
    printed = b""
    try:
        yield
    except (GuestDied, RunTimedOut):
        with contextlib.suppress(OSError):
            printed = log.read_bytes()
        raise
    finally:
        guard.close()
        if printed and not log.exists():
            guard.directory.mkdir(exist_ok=True)
            log.write_bytes(printed)


def follow(
    run: Run,
    trace: Path,
    guard: Guard,
    settings: Settings,
    progress: Progress,
    set_up_s: float = 0.0,
    check: Callable[[], None] | None = None,
) -> GuardReport:
    """Report how far the trace has come until the guard reports the end; RunTimedOut if it makes no progress.

    `set_up_s` more are allowed before the first record; `check` is called repeatedly, and ends the run by raising.
    """
    # The modules that read traces take as long to load as a short run; by now the guest is running.
    from longhaul.orchestrator.trace.records import TraceTail

    tail, log = TraceTail(trace), guard.directory / "log.txt"
    seen_ns, stall = -1, Stall(settings.stall_limit_s, set_up_s, time.monotonic())
    while (report := guard.wait(_LOOK_EVERY_S)) is None:
        check_log(run.experiment, log)
        if check:
            check()
        now_ns = tail.virtual_ns()
        if now_ns > seen_ns:
            seen_ns = now_ns
            stall.progress(time.monotonic())
            progress(now_ns)
        elif stuck := stall.check(guard.effort(), time.monotonic()):
            raise RunTimedOut(
                "running",
                run.experiment,
                f"no {run.clock} progress in {stuck}, at {run.clock} {max(seen_ns, 0) / 1e9:.3f} s",
                "see its log, and raise LONGHAUL_STALL_LIMIT_S if its work takes that long",
            )
    if report.reason == "wall_limit":
        raise RunTimedOut(
            "running",
            run.experiment,
            f"not finished after {settings.wall_limit_s} s of wall time",
            "shorten it, or raise LONGHAUL_WALL_LIMIT_S",
        )
    return report


def check_end(run: Run, directory: Path, report: GuardReport) -> None:
    """Raise the error of a run that went wrong."""
    status = read_status(directory)
    if status is None:
        raise name_death(run.experiment, report, directory / "log.txt")
    if complaint := first_complaint(directory / "log.txt"):
        raise KernelComplained(
            "running guest", run.experiment, f"its kernel complained: {complaint}", "please report it with its log"
        )
    check_status(status)


def check_status(status: Mapping[str, str]) -> None:
    """Raise the error that the agent reported."""
    if status["status"] != "done":
        raise BackendError(*(str(status.get(part, "")) for part in ("attempting", "subject", "what", "hint")))


def place(source: Path, target: Path) -> None:
    """A hard link where the file system allows one (it costs nothing), else a copy."""
    try:
        os.link(source.resolve() if source.is_symlink() else source, target)
    except OSError:
        shutil.copy2(source, target)


def read_status(directory: Path) -> dict[str, str] | None:
    """The content of the agent's status.json, or None."""
    try:
        found = json.loads((directory / "status.json").read_text())
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "status" in found else None
