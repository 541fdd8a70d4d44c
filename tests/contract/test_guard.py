"""The guard of a guest leaves no folder behind, in whichever order its caller and its guest end."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest

from longhaul.orchestrator.system.guard import Guard, start_guard
from longhaul.orchestrator.system.installation import AGENT
from tests.support.waiting import wait_for


def _guard(folder: Path, script: str, *more: str) -> Guard:
    """A guard over a shell in place of a kernel."""
    folder.mkdir(parents=True)
    agent = [os.fspath(AGENT), "guard", "--dir", os.fspath(folder), "--remove", *more]
    return start_guard([*agent, "--", "/bin/sh", "-c", script], folder / "log.txt", os.environ)


def _has_ended(guard: Guard) -> bool:
    """Whether all children of the guard have ended, of which it may not know yet."""
    children = Path(f"/proc/{guard.pid}/task/{guard.pid}/children").read_text().split()
    states = [Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] for child in children]
    return bool(states) and set(states) == {"Z"}


@pytest.mark.parametrize("caller_lives", [True, False])
def test_a_guest_that_ends_beside_its_caller_leaves_no_folder(tmp_path: Path, caller_lives: bool) -> None:
    folder = tmp_path / "run"
    guard = _guard(folder, "touch last; exec sleep 0.2")
    wait_for((folder / "last").exists)
    # The guard sees both ends at one time.
    os.kill(guard.pid, signal.SIGSTOP)
    if not caller_lives:
        guard.cancel()
    wait_for(lambda: _has_ended(guard))
    os.kill(guard.pid, signal.SIGCONT)
    report = guard.wait(30)
    guard.close()
    assert report is not None and report.reason == "exited"
    assert folder.exists() == caller_lives


# A process whose child exists before it becomes a guard, as that of a copy.
_ADOPTS = """
import os, sys, time
delay_s, pause_s, agent, folder = sys.argv[1:]
guest = os.fork()
if guest == 0:
    time.sleep(float(delay_s))
    os._exit(3)
time.sleep(float(pause_s))
os.execv(agent, [agent, "guard", "--dir", folder, "--remove", "--adopt", str(guest)])
"""


def _adopting(folder: Path, delay_s: float, pause_s: float) -> Guard:
    """A guard that adopts a process: it ends after a delay, and the guard begins after a pause."""
    folder.mkdir()
    words = [sys.executable, "-c", _ADOPTS, str(delay_s), str(pause_s), os.fspath(AGENT), os.fspath(folder)]
    return start_guard(words, folder / "log.txt", os.environ)


@pytest.mark.parametrize(("delay_s", "pause_s"), [(0.0, 0.3), (0.5, 0.0)])
def test_a_guard_adopts_a_guest_that_ends_before_or_after_it_begins(
    tmp_path: Path, delay_s: float, pause_s: float
) -> None:
    guard = _adopting(tmp_path / "run", delay_s, pause_s)
    report = guard.wait(30)
    guard.close()
    assert report is not None
    assert (report.reason, report.exit_code) == ("exited", 3)


def test_an_adopted_guest_ends_with_its_caller(tmp_path: Path) -> None:
    guard = _adopting(tmp_path / "run", 100, 0)
    guard.cancel()
    report = guard.wait(30)
    guard.close()
    assert report is not None
    assert (report.reason, report.signal) == ("cancelled", signal.SIGKILL)
    assert not (tmp_path / "run").exists()


def test_guards_of_parts_remove_one_folder_together(tmp_path: Path) -> None:
    whole = tmp_path / "run"
    tree = 'for i in $(seq 40); do mkdir -p tree/$i/$i; touch tree/$i/$i/file; done; touch "done"; sleep 100'
    guards = [
        _guard(whole / str(part), tree, "--peers", "0", "--whole", os.fspath(tmp_path / "run")) for part in range(8)
    ]
    wait_for(lambda: len(list(whole.glob("*/done"))) == len(guards))
    for guard in guards:
        guard.cancel()
    for guard in guards:
        guard.close()
    assert not whole.exists()


def test_a_guest_that_still_writes_leaves_no_folder(tmp_path: Path) -> None:
    """The caller dies; the guard of one part removes the folder while another guest makes files in it."""
    whole = tmp_path / "run"
    busy = "while :; do mkdir -p more; touch more/$$ last; rm -r more; done"
    guards = [_guard(whole / str(part), busy, "--whole", os.fspath(whole)) for part in range(4)]
    wait_for(lambda: len(list(whole.glob("*/last"))) == len(guards))
    os.kill(guards[-1].pid, signal.SIGSTOP)
    for guard in guards:
        guard.cancel()
    for guard in guards[:-1]:
        guard.close()
    os.kill(guards[-1].pid, signal.SIGCONT)
    guards[-1].close()
    assert not whole.exists()
