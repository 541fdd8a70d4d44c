"""A supervised child is started again when it ends, and ends when its supervisor stops, at any time."""

from __future__ import annotations

import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import pairwise
from types import SimpleNamespace

import pytest

from longhaul.orchestrator.system import supervise
from longhaul.orchestrator.system.supervise import Stop, keep_going

_LOG = logging.getLogger("test")


class Clock:
    """A clock that advances when code sleeps; it calls `then`."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.then: Callable[[float], None] = lambda now_s: None

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, length_s: float) -> None:
        self.now_s += length_s
        self.then(self.now_s)


class Child:
    """A process that ends by itself after a time."""

    deaf = False

    def __init__(self, clock: Clock, lives_s: float) -> None:
        self.begun_s = clock.now_s
        self.returncode: int | None = None
        self._clock, self._lives_s = clock, lives_s

    def poll(self) -> int | None:
        if self._clock.now_s - self.begun_s >= self._lives_s:
            self.returncode = 1
        return self.returncode

    def send_signal(self, number: int) -> None:
        if not self.deaf:
            self.returncode = -number

    def wait(self, longest_s: float | None = None) -> int | None:
        if self.returncode is None:
            assert longest_s is not None, "this would wait for ever"
            self._clock.now_s += longest_s
            raise subprocess.TimeoutExpired("x", longest_s)
        return self.returncode

    def kill(self) -> None:
        self.returncode = -signal.SIGKILL


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(supervise, "time", SimpleNamespace(monotonic=found.monotonic, sleep=found.sleep))
    return found


def kept_going(
    clock: Clock, monkeypatch: pytest.MonkeyPatch, stop: Stop, lives_s: Sequence[float], at_start: int = -1
) -> list[Child]:
    """Children of these lives, until there are no more, or until a stop comes while one of them is being started."""
    children: list[Child] = []

    def start(argv: Sequence[str]) -> Child:
        children.append(Child(clock, lives_s[len(children)]))
        if len(children) == len(lives_s) or len(children) == at_start:
            stop.set()
        return children[-1]

    monkeypatch.setattr(supervise, "start_companion", start)
    keep_going(["x"], stop, _LOG, "x")
    return children


def test_a_child_that_ends_soon_is_started_after_growing_pauses(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    children = kept_going(clock, monkeypatch, Stop(), [1.0] * 9)
    begun_s = [child.begun_s for child in children]
    pauses_s = [later - earlier - 1.0 for earlier, later in pairwise(begun_s)]
    assert pauses_s == pytest.approx([0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0, 10.0], abs=0.3)


def test_a_child_that_lasted_is_started_again_at_once(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    children = kept_going(clock, monkeypatch, Stop(), [1.0, 1.0, 1.0, 60.0, 1.0])
    assert children[4].begun_s - children[3].begun_s == pytest.approx(60.2, abs=0.3)


def test_a_stop_that_comes_while_it_is_being_started_ends_it(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    children = kept_going(clock, monkeypatch, Stop(), [1.0, 1e9, 1.0], at_start=2)
    assert [child.returncode for child in children] == [1, -signal.SIGTERM]


def test_a_child_that_ignores_a_stop_is_killed_in_the_end(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Child, "deaf", True)
    (child,) = kept_going(clock, monkeypatch, Stop(), [1e9])
    assert child.returncode == -signal.SIGKILL
    # Later than its own end would come, sooner than a supervisor kills the service.
    assert supervise.ORDERLY_S < clock.now_s < 50


_HANGING = """
import sys, time
from longhaul.orchestrator.system import supervise as companions
companions.ORDERLY_S = 0.3
companions.when_asked_to_stop(lambda: None)
print("ready", flush=True)
def hanging():
    while True:
        time.sleep(60)
hanging()
"""


def test_a_process_that_hangs_during_its_stop_ends_and_prints_its_stack() -> None:
    with subprocess.Popen([sys.executable, "-c", _HANGING], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGTERM)
        _, messages = child.communicate(timeout=60)
    assert child.returncode == 1
    assert b"in hanging" in messages


def test_a_stop_interrupts_the_pause_before_the_next_start(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stop = Stop()
    # In the middle of the longest pause.
    clock.then = lambda now_s: stop.set() if now_s > 25 else None
    children = kept_going(clock, monkeypatch, stop, [1.0] * 99)
    assert children[-1].returncode == 1
    assert clock.now_s == pytest.approx(25, abs=0.3)
