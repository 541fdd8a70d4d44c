"""Guests: User-Mode-Linux kernels as ordinary processes, for every use.

    this process --pipe--> guard (longhaul-agent) --ptrace--> guest kernel
                                                               `-- /init = longhaul-agent as PID 1

It promises that the same Run in virtual time gives the same bytes: the kernel's command line depends on the Run alone (paths
reach the guest through its working directory and inherited descriptors). It refuses to run without the configured kernel and
agent, and names the cause when a guest dies before its end.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.cpus import claim_cpu, claim_cpus
from longhaul.orchestrator.backends.deaths import RETRYABLE, check_log
from longhaul.orchestrator.backends.fence import Fence, is_fenced, real_end, unconfined
from longhaul.orchestrator.backends.guest_files import missing_files
from longhaul.orchestrator.backends.guest_programs import PRINTED, furnish_programs
from longhaul.orchestrator.backends.guest_root import MODULES, RUN_FILE, place, put_root_away, take_root
from longhaul.orchestrator.backends.guest_template import can_copy, templates_of
from longhaul.orchestrator.backends.guest_watch import check_end, follow, log_left
from longhaul.orchestrator.backends.programs import LOG
from longhaul.orchestrator.plan.captures import CAPTURE_FILES
from longhaul.orchestrator.plan.kernel_names import in_kernel_names
from longhaul.orchestrator.plan.placed.recorded_table import FOLDER, rows_file
from longhaul.orchestrator.plan.run import Module, Progress, Run
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.system.built_kernels import checked_program, manifest_of
from longhaul.orchestrator.system.errors import BackendUnavailable, GuestDied, KernelComplained
from longhaul.orchestrator.system.guard import Guard, GuardReport, start_guard
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings

# An arbitrary fixed instant, so that no date of the host enters a run: 14 November 2023.
_EPOCH_NS = 1_700_000_000_000_000_000
# The time that Mininet may take per node, with its shell and links, before a trace exists.
_SET_UP_S_PER_NODE = 5.0

TRACE = "trace.bin"
# Files that a guest leaves in its root.
_FILES_LEFT = ("facts.json", "status.json", TRACE, *CAPTURE_FILES)
_PRINTED = (IPERF3, PRINTED)
_LEFT = (*_FILES_LEFT, *_PRINTED)

Furnish = Callable[[Run, Path], None]


class Guests:
    """The files of guests on this machine, and how a guest runs a Run."""

    def __init__(self, settings: Settings, backend: str, furnish_more: Furnish = lambda run, guest: None) -> None:
        self.settings = settings
        self._backend = backend
        self._furnish_more = furnish_more
        self._hashes: dict[Path, str] = {}
        self._user_modules: dict[tuple[str, str, str], Path] = {}
        self._building = threading.Lock()

    @property
    def agent(self) -> Path:
        """The agent: first process of a guest, and its guard outside."""
        return self.settings.agent or AGENT

    def artefacts(self, run: Run) -> dict[str, Path]:
        """The files of this run's guests by their names in a cache, and the agent."""
        found = {"agent": self.agent}
        for one in _by_kernel(run):
            cache, kernel = self.settings.cache, self.settings.kernel(one.kernel)
            found |= {
                str(kernel.relative_to(cache) / name): kernel / name for name in ("linux", "manifest.json", "config")
            }
            for module in [Module("lh_trace", {}), Module("lh_wire", {}), *self._loaded(one), *_capturing(one)]:
                file = self._module_file(one, module)
                found[f"own/{module.source}/{file.name}" if module.source else str(file.relative_to(cache))] = file
        found |= {table.file: rows_file(table, self.settings.cache) for table in run.recordings}
        return found

    def missing(self, *kernels: str) -> list[tuple[str, str]]:
        """Every missing piece for guests of these kernels, each with the command that provides it."""
        found = [piece for kernel in kernels for piece in missing_files(self.settings, self.agent, kernel)]
        return list(dict.fromkeys(found))

    def identity(self, run: Run) -> dict[str, str]:
        """Hashes of the kernel, the agent and the modules that this run loads; of other kernels than the run's with their names."""
        own, *others = _by_kernel(run)
        found = self._programs(own)
        for one in others:
            found |= {
                f"{name} of {one.kernel}": value for name, value in self._programs(one).items() if name != "agent"
            }
        return found

    def _programs(self, run: Run) -> dict[str, str]:
        return {
            "kernel": manifest_of(self.settings.kernel(run.kernel))["hash"],
            "agent": self.hash(self.agent),
            **{module.name: self.hash(self._module_file(run, module)) for module in self._loaded(run)},
        }

    @staticmethod
    def _loaded(run: Run) -> list[Module]:
        probe = [Module("lh_trace", {})] if run.clock == "virtual" else []
        # Wires between guests are part of the result only where they alter it.
        wires = [Module("lh_wire", {})] if run.parts is not None and run.parts.alters else []
        return probe + wires + [module for module in run.modules if not module.builtin]

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        """Run it in a guest; a death that is independent of the experiment is retried once."""
        from longhaul.orchestrator.backends.originals import retain

        retain(self.agent, self.settings)
        try:
            return self._attempt(run, directory, progress)
        except GuestDied as death:
            if death.cause not in RETRYABLE:
                raise
        cost = self._attempt(run, directory, progress)
        return replace(cost, retries=1)

    def _attempt(self, run: Run, directory: Path, progress: Progress) -> Cost:
        if run.parts is not None:
            with claim_cpus(run.parts.number) as cpus:
                if cpus or not run.parts.auto:
                    from longhaul.orchestrator.backends.guest_group import RunInParts

                    return RunInParts(self, run, directory, cpus).attempt(progress)
        with claim_cpu() as cpu:
            return self._attempt_in_one(run, directory, progress, cpu)

    def _attempt_in_one(self, run: Run, directory: Path, progress: Progress, cpu: int) -> Cost:
        self.furnish(run, directory)
        fence = None
        if is_fenced(run, self.settings):
            fence = Fence(run, directory, self.settings.kernel(run.kernel).resolve(), self.settings)
        copy = None if fence else self._copy(run, directory, cpu)
        guard = copy or self.start(directory, cpu, run, consoles=LOG.arguments, fence=fence)
        try:
            trace = growing_traces(run, directory)[0]
            set_up_s = _SET_UP_S_PER_NODE * len(run.nodes) if run.backend == "mininet" else 0.0
            with log_left(guard):
                check = fence.check_written if fence else None
                report = follow(run, trace, guard, self.settings, progress, set_up_s, check)
            self.collect(run, directory, report, fence)
        except GuestDied:
            # The next attempt is a guest that starts by itself.
            if copy and (templates := templates_of(directory)):
                templates.refuse(self._kind(run))
            raise
        finally:
            guard.close()
            if fence:
                fence.clear()
        return Cost(report.wall_s, report.cpu_s, report.max_rss_kb, copied=copy is not None)

    def _copy(self, run: Run, directory: Path, cpu: int) -> Guard | None:
        """A guest that is the copy of one that has started; None where it must start by itself."""
        templates = templates_of(directory)
        # What captures packets opens its files when it is loaded, and those of a copy are others.
        if templates is None or run.backend != "sandbox" or run.clock != "virtual" or run.capture is not None:
            return None
        if not can_copy(self.settings.kernel(run.kernel), manifest_of(self.settings.kernel(run.kernel))["hash"]):
            return None

        def start(place: Path, arguments: Sequence[str], shared: Sequence[int]) -> Guard:
            consoles = (*LOG.arguments, *arguments)
            return self.start(place, -1, run, consoles=consoles, shared=shared)

        return templates.copy(self._kind(run), directory, cpu, self._guarding(directory), start)

    def _kind(self, run: Run) -> Hashable:
        """All that a guest depends on until its modules are loaded."""
        named = in_kernel_names(_with_capture(run))
        loaded = repr((named.modules, named.knobs, named.trace, named.duration_us))
        return (run.memory_mb, run.seed, *self._programs(run).items(), loaded)

    def _guarding(self, directory: Path, wall_s: int | None = None) -> list[str]:
        """The command of a guard for a guest in this run directory."""
        limit = str(wall_s or self.settings.wall_limit_s)
        # A copy's guard begins in another folder than this process.
        agent, place = str(self.agent.absolute()), str(directory.absolute())
        return [agent, "guard", "--wall-s", limit, "--dir", place, "--remove"]

    def start(
        self,
        directory: Path,
        cpu: int,
        run: Run,
        *,
        consoles: Sequence[str],
        guarding: Sequence[str] = (),
        wall_s: int | None = None,
        terminal: int | None = None,
        fence: Fence | None = None,
        shared: Sequence[int] = (),
    ) -> Guard:
        """A guest for a run whose root is `directory`/guest, under its guard, confined if a fence is given, with these descriptors that it shares with others."""
        guard = [*self._guarding(directory, wall_s), "--cpu", str(cpu), *guarding]
        if shared:
            guard += ["--peers", str(len(shared) // 2)]
        command = [
            str(checked_program(self.settings, run.kernel)),
            f"mem={run.memory_mb}M",
            "root=/dev/root",
            "rootfstype=hostfs",
            "rootflags=/proc/self/cwd/guest",
            "rw",
            "init=/init",
            *(("time-travel=inf-cpu", f"time-travel-start={_EPOCH_NS}") if run.clock == "virtual" else ()),
            f"rng-seed={run.seed}",
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
            "TMPDIR": str(self.settings.guest_memory_dir),
            "PATH": "/usr/bin:/bin",
        }
        command = fence.command(command) if fence else unconfined(command)
        return start_guard([*guard, "--", *command], directory / "log.txt", environment, terminal, shared)

    def furnish(self, run: Run, directory: Path, part: Mapping[str, Any] | None = None) -> None:
        """Lay out the guest's files; remove those of an earlier attempt. `part` is the run.json of a part of the run."""
        if (directory / "log.txt").exists():
            for folder in _PRINTED:
                shutil.rmtree(directory / folder, ignore_errors=True)
            for file in (*_FILES_LEFT, "log.txt"):
                (directory / file).unlink(missing_ok=True)
        guest = take_root(directory, self.agent)
        if part is not None:
            (guest / RUN_FILE).write_text(json.dumps(part))
        elif (named := in_kernel_names(_with_capture(run))) is run:
            place(directory / RUN_FILE, guest / RUN_FILE)
        else:
            (guest / RUN_FILE).write_text(json.dumps(named.as_json()))
        self.furnish_modules(run, guest)
        if run.recordings:
            (guest / FOLDER).mkdir()
        # Tables with the same rows, as of one recording in both directions, have one file.
        for name, rows in {table.file: rows_file(table, self.settings.cache) for table in run.recordings}.items():
            place(rows, guest / name)
        if has_iperf3(run):
            (guest / IPERF3).mkdir()
        furnish_programs(run, guest)
        self._furnish_more(run, guest)

    def furnish_modules(self, run: Run, guest: Path) -> None:
        """Put the modules of a run where the guest's agent finds them."""
        modules = [*self._loaded(run), *_capturing(run)]
        if run.parts is not None and not run.parts.alters:
            modules.append(Module("lh_wire", {}))
        for module in modules:
            place(self._module_file(run, module), guest / MODULES / f"{module.name}.ko")

    def congestion_controls(self, kernel: str) -> list[Path]:
        """Every module of a congestion control, for programs that choose one themselves; a project's module hides the kernel's."""
        folders = (self.settings.kernel(kernel) / "modules", self.settings.modules(kernel))
        return sorted({file.name: file for folder in folders for file in folder.glob("tcp_*.ko")}.values())

    def module(self, name: str, kernel: str) -> Path:
        """A module of the project that scripts use, and no run."""
        return self.settings.modules(kernel) / f"{name}.ko"

    def collect(self, run: Run, directory: Path, report: GuardReport, fence: Fence | None) -> None:
        """Take the results out of the root of a guest that has ended; raise the error of a bad end."""
        guest = directory / "guest"
        if fence:
            fence.copy_results(_LEFT)
            fence.clear()
            report = real_end(report)
        else:
            for name in {file.name for file in guest.iterdir()}.intersection(_LEFT):
                (guest / name).rename(directory / name)
        self._note_kernel(run, directory)
        try:
            check_log(run.experiment, directory / "log.txt")
            check_end(run, directory, report)
        except (GuestDied, KernelComplained) as error:
            from longhaul.orchestrator.backends.module_crashes import explain

            explain(error, run, directory / "log.txt", self.settings)
            raise
        if fence or any(module.source for module in run.modules):
            shutil.rmtree(guest, ignore_errors=fence is not None)
        else:
            put_root_away(guest)
        shutil.rmtree(directory / "home")

    def _note_kernel(self, run: Run, directory: Path) -> None:
        """The parts of a kernel with a name belong to the facts of a run."""
        parts = manifest_of(self.settings.kernel(run.kernel)).get("parts")
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
                    self._user_modules[key] = own_module(self.settings, *key, module)
            return self._user_modules[key]
        ours = self.settings.modules(run.kernel) / f"{module.name}.ko"
        return ours if ours.is_file() else self.settings.kernel(run.kernel) / "modules" / f"{module.name}.ko"

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


def _by_kernel(run: Run) -> list[Run]:
    """The run with each kernel of its guests."""
    return [run if kernel == run.kernel else replace(run, kernel=kernel) for kernel in run.kernels]


def _capturing(run: Run) -> list[Module]:
    """The module that captures packets, which is no part of the identity of a run: it changes nothing in it."""
    return [] if run.capture is None else [run.capture]


def _with_capture(run: Run) -> Run:
    """The run as its guest gets it: what captures packets is the last of its modules."""
    return run if run.capture is None else replace(run, modules=(*run.modules, run.capture), capture=None)


def growing_traces(run: Run, directory: Path) -> list[Path]:
    """Paths of a guest's trace: a probe writes through an inherited descriptor, a sampling agent to the only folder it sees; that file is moved later."""
    moved = directory / TRACE
    return [moved] if run.clock == "virtual" else [directory / "guest" / TRACE, moved]


def has_iperf3(run: Run) -> bool:
    """Whether iperf3 generates the traffic of a flow."""
    return any(flow.tool == IPERF3 for flow in run.flows)
