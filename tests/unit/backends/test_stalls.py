"""A guest is stuck when it computes or sleeps for long without progress: never because a machine is busy."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from longhaul.orchestrator.backends.guest_watch import follow
from longhaul.orchestrator.backends.stalls import Stall
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import GuestDied, RunTimedOut
from longhaul.orchestrator.system.guard import Effort, Guard, GuardReport, effort_below
from longhaul.orchestrator.system.settings import Settings
from tests.support.waiting import wait_for

_LIMIT_S = 1
_SPINS = "while True: pass"
_SLEEPS = "import time\nwhile True: time.sleep(60)"


def stuck(efforts: Sequence[Effort | None], limit_s: float = 5.0, set_up_s: float = 0.0) -> str | None:
    """The result of ten checks a second."""
    stall = Stall(limit_s, set_up_s, 0.0)
    found = [stall.check(effort, 0.1 * (number + 1)) for number, effort in enumerate(efforts)]
    return next((one for one in found if one), None)


def test_a_guest_without_a_processor_is_not_stuck_and_one_that_computes_or_sleeps_is() -> None:
    starved = [Effort(0.001 * number, runnable=True) for number in range(3000)]
    assert stuck(starved) is None
    spinning = [Effort(0.1 * number, runnable=True) for number in range(60)]
    assert stuck(spinning) == "5 s of its own processor time"
    assert stuck(spinning[:50]) is None
    assert stuck(spinning, set_up_s=3.0) is None
    sleeping: list[Effort | None] = [Effort(0.3, runnable=False)] * 60
    assert stuck(sleeping) == "5 s of wall time in which it had nothing to compute"
    assert stuck(sleeping[:49]) is None
    # Half of the time each, like a guest that waits for a slow disk.
    assert stuck([one for pair in zip(starved, sleeping, strict=False) for one in pair]) is not None
    # If the kernel does not report it, all time counts.
    assert stuck([None] * 60) == "5 s of wall time"


def test_progress_begins_anew() -> None:
    stall = Stall(5.0, 100.0, 0.0)
    stall.progress(1.0)
    asleep = Effort(2.0, runnable=False)
    assert not any(stall.check(asleep, 1.0 + 0.1 * number) for number in range(1, 49))
    stall.progress(6.0)
    assert not any(stall.check(asleep, 6.0 + 0.1 * number) for number in range(1, 49))
    assert any(stall.check(asleep, 11.0 + 0.1 * number) for number in range(1, 9))


def test_a_suspended_machine_is_not_a_stall() -> None:
    """No check for an hour: this process was stopped too."""
    stall = Stall(5.0, 0.0, 0.0)
    assert stall.check(Effort(1.0, runnable=False), 3600.0) is None


class Family:
    """A process in place of a guard, whose child is in place of a guest."""

    def __init__(self, program: str) -> None:
        parent = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {program!r}])"
        self._process = subprocess.Popen([sys.executable, "-c", parent], process_group=0)
        self.until_s = float("inf")
        # The folder of its log.
        self.directory = Path()
        while not self.child:
            time.sleep(0.01)

    @property
    def child(self) -> int | None:
        """Its process id, once it exists."""
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        return int(children[0]) if children else None

    def wait(self, timeout_s: float) -> GuardReport | None:
        """Like a guard's: it ends with the test."""
        time.sleep(timeout_s)
        return GuardReport(0, None, "exited", 0.0, 0.0, 0) if time.monotonic() > self.until_s else None

    @property
    def logs(self) -> list[Path]:
        """Like a guard's."""
        return [self.directory / "log.txt"]

    def effort(self) -> Effort | None:
        """Like a guard's."""
        return effort_below(self._process.pid)

    def end(self) -> None:
        """End it and its child."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def busy() -> Iterator[int]:
    """The number of a processor that other processes use."""
    cpu = min(os.sched_getaffinity(0))
    loops = [subprocess.Popen([sys.executable, "-c", _SPINS]) for _ in range(2)]
    for loop in loops:
        os.sched_setaffinity(loop.pid, {cpu})
    yield cpu
    for loop in loops:
        loop.kill()
        loop.wait()


def followed(family: Family, tmp_path: Path) -> GuardReport:
    """The result of following it, with a limit of a second and no growing trace."""
    settings = cast("Settings", SimpleNamespace(stall_limit_s=_LIMIT_S, wall_limit_s=60))
    run = cast("Run", SimpleNamespace(experiment="x", clock="virtual", flows=()))
    family.directory = tmp_path
    try:
        return follow(run, tmp_path / "trace.bin", cast("Guard", family), settings, lambda virtual_ns: None)
    finally:
        family.end()


def test_a_guest_that_hardly_gets_a_processor_lives(busy: int, tmp_path: Path) -> None:
    family = Family(_SPINS)
    assert family.child is not None
    os.sched_setaffinity(family.child, {busy})
    os.setpriority(os.PRIO_PROCESS, family.child, 19)
    begun = family.effort()
    # Where processes are scheduled by session, niceness has no effect, and this one has half of the processor.
    family.until_s = time.monotonic() + 1.5 * _LIMIT_S
    assert begun is not None and begun.runnable
    assert followed(family, tmp_path).reason == "exited"


def test_a_guest_that_waits_for_a_disk_lives(tmp_path: Path) -> None:
    """A busy disk makes a writer wait uninterruptibly, as vfork() makes a parent wait for its child."""
    family = Family("import ctypes\nlibrary = ctypes.CDLL(None)\nlibrary.vfork() or library.pause()")
    family.until_s = time.monotonic() + 2.5 * _LIMIT_S
    assert followed(family, tmp_path).reason == "exited"


@pytest.mark.parametrize(
    ("program", "what"), [(_SPINS, "its own processor time"), (_SLEEPS, "in which it had nothing to compute")]
)
def test_a_guest_that_spins_or_sleeps_for_ever_is_found(program: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(RunTimedOut, match=f"no virtual progress in 1 s of .*{what}, at virtual 0.000 s"):
        followed(Family(program), tmp_path)


def test_a_guest_that_prints_without_end_is_ended_before_it_fills_the_disk(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    family = Family(
        f"with open({os.fspath(log)!r}, 'a') as log:\n while True: log.write('BUG: the same again\\n' * 10_000)"
    )
    with pytest.raises(GuestDied, match="the guest printed more than 64 MB") as died:
        followed(family, tmp_path)
    assert died.value.cause == "endless_log"


def test_a_guest_that_is_stopped_for_good_is_found(tmp_path: Path) -> None:
    stopped = Family(_SLEEPS)
    os.kill(cast("Any", stopped.child), signal.SIGSTOP)
    with pytest.raises(RunTimedOut, match="nothing to compute"):
        followed(stopped, tmp_path)


def test_processor_time_is_that_of_all_processes_also_of_those_that_ended() -> None:
    program = "import subprocess, sys, time\n"
    # More than is asked for below: the kernel reports each of four counters in whole ticks, rounded down.
    program += "subprocess.run([sys.executable, '-c', 'import time\\nwhile time.process_time() < 0.5: pass'])\n"
    family = Family(program + "print('done', flush=True)\ntime.sleep(60)")

    def all_counted() -> bool:
        effort = family.effort()
        return effort is not None and effort.cpu_s >= 0.3 and not effort.runnable

    try:
        wait_for(all_counted, 60)
    finally:
        family.end()
