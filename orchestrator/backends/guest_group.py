"""A run in parts: a guest for each, joined by wires, and one result.

    <run directory>/parts/0/   what one guest has in a run directory          --> trace.bin, facts.json, log.txt of the run
    <run directory>/parts/1/

The trace is merged while the guests run, up to the least time that one of them has reached. If one ends badly, the others end too, and the
error is that of the first cause, not of those that lost their neighbour.
"""

from __future__ import annotations

import contextlib
import json
import select
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.cpus import UNPINNED
from longhaul.orchestrator.backends.deaths import has_lost_neighbour
from longhaul.orchestrator.backends.fence import Fence, is_fenced
from longhaul.orchestrator.backends.guest_watch import follow, log_left, read_status
from longhaul.orchestrator.backends.programs import LOG
from longhaul.orchestrator.backends.shared_wires import SharedWires
from longhaul.orchestrator.plan.captures import CAPTURE_FILES, part_with_capture
from longhaul.orchestrator.plan.guests.cut import Cut, cut_run
from longhaul.orchestrator.plan.kernel_names import in_kernel_names
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.system.dataclass_json import encode
from longhaul.orchestrator.system.guard import Effort, Guard, GuardReport
from longhaul.orchestrator.system.process import lower_priority

if TYPE_CHECKING:
    from longhaul.orchestrator.backends.guest import Guests
    from longhaul.orchestrator.trace.merge import GuestOrder, MergedTrace

# Looks at a neighbour before a guest sleeps, some 20 us, where each guest has a processor.
_SPINS = 2000
# How long a guest whose neighbour has ended badly may take to end too.
_GRACE_S = 0.5
# The probe keeps a record back at most this long, in time of the run.
_KEPT_BACK_NS = 110_000_000
_FOLDER = "parts"


class GuestGroup:
    """Guests that run together: it has ended when all have."""

    def __init__(self, guards: Sequence[Guard]) -> None:
        self._guards = guards
        self._reports: dict[int, GuardReport] = {}
        self._broken_s: float | None = None

    @property
    def logs(self) -> list[Path]:
        return [log for guard in self._guards for log in guard.logs]

    @property
    def reports(self) -> list[GuardReport]:
        """The end of each guest."""
        return [self._reports[part] for part in range(len(self._guards))]

    def wait(self, timeout_s: float) -> GuardReport | None:
        until_s = time.monotonic() + timeout_s
        while len(self._reports) < len(self._guards):
            left = [part for part in range(len(self._guards)) if part not in self._reports]
            wait_s = max(0.0, until_s - time.monotonic())
            if self._broken_s is not None:
                wait_s = min(wait_s, max(0.0, self._broken_s + _GRACE_S - time.monotonic()))
            ready, _, _ = select.select([self._guards[part].report_fd for part in left], [], [], wait_s)
            for part in left:
                if self._guards[part].report_fd in ready and (report := self._guards[part].wait(0)) is not None:
                    self._reports[part] = report
                    self._see_end(part)
            if self._broken_s is not None and time.monotonic() >= self._broken_s + _GRACE_S:
                for guard in self._guards:
                    guard.cancel()
                self._broken_s = time.monotonic() + 3600
            if not ready and time.monotonic() >= until_s:
                return None
        return self._together()

    def _see_end(self, part: int) -> None:
        status = read_status(self._guards[part].directory / "guest")
        if self._broken_s is None and (status is None or status["status"] != "done"):
            self._broken_s = time.monotonic()

    def _together(self) -> GuardReport:
        reports = self.reports
        worst = next((one for one in reports if one.reason != "exited"), reports[0])
        return GuardReport(
            exit_code=worst.exit_code,
            signal=worst.signal,
            reason=worst.reason,
            cpu_s=sum(one.cpu_s for one in reports),
            wall_s=max(one.wall_s for one in reports),
            max_rss_kb=sum(one.max_rss_kb for one in reports),
        )

    def effort(self) -> Effort | None:
        efforts = [guard.effort() for guard in self._guards]
        if any(one is None for one in efforts):
            return None
        known = [one for one in efforts if one is not None]
        return Effort(sum(one.cpu_s for one in known), any(one.runnable for one in known))

    def close(self) -> None:
        for guard in self._guards:
            guard.cancel()
        for guard in self._guards:
            guard.close()


class RunInParts:
    """One attempt of a run in several guests."""

    def __init__(self, guests: Guests, run: Run, directory: Path, cpus: Sequence[int]) -> None:
        assert run.parts is not None
        self._guests = guests
        self._run = run
        self._directory = directory
        self._cut = cut_run(replace(in_kernel_names(run), capture=None), run.parts.number)
        self._capturing = None if run.capture is None else part_with_capture(run)
        self._folders = [directory / _FOLDER / str(part) for part in range(len(self._cut.nodes))]
        self._cpus = cpus
        self._fences: list[Fence | None] = []

    def attempt(self, progress: Progress) -> Cost:
        """Run it; leaves the files of a run directory."""
        shutil.rmtree(self._directory / _FOLDER, ignore_errors=True)
        wires = SharedWires(self._cut)
        try:
            group = self._start(wires)
            merge = _Merge(self._cut, self._folders, self._directory, wires)
            try:
                with log_left(group):
                    report = follow(
                        self._run, merge.path, group, self._guests.settings, progress, check=self._check(merge)
                    )
                merge.finish()
                self._collect(group, wires, merge)
            finally:
                merge.close()
                group.close()
                self._join_logs()
                for fence in filter(None, self._fences):
                    fence.clear()
        finally:
            wires.close()
        shutil.rmtree(self._directory / _FOLDER, ignore_errors=True)
        return Cost(report.wall_s, report.cpu_s, report.max_rss_kb, parts=len(self._folders))

    def _start(self, wires: SharedWires) -> GuestGroup:
        guards: list[Guard] = []
        try:
            for part, folder in enumerate(self._folders):
                folder.mkdir(parents=True)
                document = self._cut.document(part, _SPINS if self._cpus else 0)
                if part == self._capturing and self._run.capture is not None:
                    document["modules"].append(encode(self._run.capture))
                self._guests.furnish(self._of(part), folder, document)
                guards.append(self._start_part(part, folder, wires))
            wires.let_go()
            return GuestGroup(guards)
        except BaseException:
            GuestGroup(guards).close()
            raise

    def _start_part(self, part: int, folder: Path, wires: SharedWires) -> Guard:
        fence, run = None, self._of(part)
        if is_fenced(run, self._guests.settings):
            kernel = self._guests.settings.kernel(run.kernel).resolve()
            fence = Fence(run, folder, kernel, self._guests.settings)
        self._fences.append(fence)
        return self._guests.start(
            folder,
            self._cpus[part] if self._cpus else UNPINNED,
            run,
            consoles=LOG.arguments,
            guarding=("--whole", str(self._directory)),
            fence=fence,
            shared=wires.descriptors(part),
        )

    def _of(self, part: int) -> Run:
        """The run with the kernel of a part's guest."""
        return replace(self._run, kernel=self._cut.kernel(part))

    def _check(self, merge: _Merge) -> Callable[[], None]:
        def check() -> None:
            merge.advance()
            for fence in filter(None, self._fences):
                fence.check_written()

        return check

    def _collect(self, group: GuestGroup, wires: SharedWires, merge: _Merge) -> None:
        """Take what the guests left, and raise the error of the one that ended badly by itself."""
        # Loaded here: its numpy takes longer to load than a guest to start.
        from longhaul.orchestrator.backends.merge_facts import merge_part_facts

        # Those that lost a neighbour come last.
        for part in sorted(
            range(len(self._folders)), key=lambda part: has_lost_neighbour(self._folders[part] / "log.txt")
        ):
            self._guests.collect(self._of(part), self._folders[part], group.reports[part], self._fences[part])
        facts = [json.loads((folder / "facts.json").read_text()) for folder in self._folders]
        one = merge_part_facts(self._run, self._cut.nodes, facts, merge.repeated)
        one["parts"] = self._about_parts(facts, wires)
        (self._directory / "facts.json").write_text(json.dumps(one))
        if self._capturing is not None:
            for name in CAPTURE_FILES:
                with contextlib.suppress(FileNotFoundError):
                    (self._folders[self._capturing] / name).rename(self._directory / name)
        (self._directory / "status.json").write_text(json.dumps({"status": "done"}))

    def _about_parts(self, facts: Sequence[dict[str, object]], wires: SharedWires) -> dict[str, object]:
        return {
            "window_ns": self._cut.window_ns,
            "guests": [
                {"nodes": sorted(names), "kernel": fact["kernel"]}
                for names, fact in zip(self._cut.nodes, facts, strict=True)
            ],
            "on_the_way": wires.on_the_way(),
        }

    def _join_logs(self) -> None:
        """The log of the run: that of each guest under its number."""
        with contextlib.suppress(FileNotFoundError), (self._directory / "log.txt").open("wb") as whole:
            for part, folder in enumerate(self._folders):
                with contextlib.suppress(FileNotFoundError):
                    text = (folder / "log.txt").read_bytes()
                    whole.write(f"part {part} ({', '.join(sorted(self._cut.nodes[part]))}):\n".encode() + text)


class _Merge:
    """The trace of the run, as those of its guests grow. A thread merges them while a guest waits: the guests need every processor."""

    def __init__(self, cut: Cut, folders: Sequence[Path], directory: Path, wires: SharedWires) -> None:
        self.path = directory / "trace.bin"
        self._wires = wires
        self._names = {str(part): folder / "trace.bin" for part, folder in enumerate(folders)}
        self._read = dict.fromkeys(self._names, 0)
        self._merged: MergedTrace | None = None
        self._thread = ThreadPoolExecutor(1, initializer=lower_priority)
        self._step: Future[None] = self._thread.submit(self._begin, cut.run)

    @property
    def repeated(self) -> int:
        return self._begun.repeated

    def advance(self) -> None:
        """Begin to take what the guests have written since the last time, unless that is still being done."""
        if self._step.done():
            self._step.result()
            self._step = self._thread.submit(self._take_before_reached)

    def finish(self) -> None:
        """Take the rest."""
        self._step.result()
        self._take()
        self._begun.finish()

    def close(self) -> None:
        self._thread.shutdown()
        if self._merged:
            self._merged.close()

    def _begin(self, run: Run) -> None:
        # Loading it takes longer than a short run.
        from longhaul.orchestrator.trace.merge import MergedTrace

        self._merged = MergedTrace(self.path, list(self._names), _order(run), departures=run.trace.departures)

    @property
    def _begun(self) -> MergedTrace:
        assert self._merged
        return self._merged

    def _take_before_reached(self) -> None:
        # Before the files are read: what a guest sent before this time is in its file, or still in its probe.
        reached = {name: self._wires.reached_ns(int(name)) - _KEPT_BACK_NS for name in self._names}
        self._take()
        self._begun.write_before(reached)

    def _take(self) -> None:
        for name, path in self._names.items():
            with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
                file.seek(self._read[name])
                piece = file.read()
                self._read[name] += len(piece)
                self._begun.add(name, piece)


def _order(run: Run) -> GuestOrder:
    """Wires in the order of the plan, in which the kernel serves them (kmod/lh_wire.c)."""
    places = {end.dev: place for place, wire in enumerate(run.wires) for end in wire.ends}
    from longhaul.orchestrator.trace.merge import GuestOrder

    # A sender of UDP sets its alarm with its last packet.
    begun = sorted(run.flows, key=lambda flow: (flow.kind == "udp", flow.start_us))
    return GuestOrder(
        flows=[places[flow.forward[0]] for flow in run.flows],
        links=[places[link.dev] for link in run.links],
        starts=[begun.index(flow) for flow in run.flows],
        end_ns=run.duration_us * 1000,
    )
