"""Copies of a guest that has started do the same as guests that start by themselves, to the byte; where none can be had, guests start by themselves."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.system.settings import Settings
from tests.support.guests import VARIED, experiment, guards, guests
from tests.support.waiting import wait_for

pytestmark = pytest.mark.default_kernel

# All that a guest leaves; its log has the words of its kernel from the first line on.
LEFT = ("trace.bin", "facts.json", "status.json", "log.txt")


class Lab:
    """Guests of one process, run after run."""

    def __init__(self, settings: Settings, home: Path, staging: Staging) -> None:
        self.home = home
        self._backend = open_backend("sandbox", settings)
        self._staging = staging

    def run(self, run: Run, changes: dict[str, Any] | None = None) -> tuple[Cost, dict[str, str]]:
        """The cost of a run, and the hashes of what its guest left."""
        run = replace(run, **changes or {})
        with self._staging.directory("run") as directory:
            (directory / "run.json").write_text(json.dumps(run.as_json()))
            cost = self._backend.run(run, directory, lambda _: None)
            return cost, {name: sha256((directory / name).read_bytes()).hexdigest() for name in LEFT}

    def copied(self, run: Run, times: int) -> list[bool]:
        """Whether each of so many guests of a run was a copy."""
        return [self.run(run)[0].copied for _ in range(times)]

    def templates(self) -> list[int]:
        """The kernels of started guests that wait, by their processes."""
        return [process for process in guests(self.home) if b"lh_template=" in _command(process)]


@pytest.fixture
def lab(settings: Settings, tmp_path: Path) -> Iterator[Lab]:
    with Staging(tmp_path / "home") as staging:
        yield Lab(settings, tmp_path / "home", staging)
    assert not guests(tmp_path / "home")
    assert not guards(tmp_path / "home")


def run_of(**changes: Any) -> Run:
    return compile_plan(experiment(**{"duration": "1500 ms", "parts": 1, **changes})).runs[0]


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("name", VARIED)
def test_a_copy_leaves_the_bytes_of_a_guest_that_started_by_itself(lab: Lab, name: str) -> None:
    run = run_of(**VARIED[name])
    (first, alone), (second, copy), (third, another) = (lab.run(run) for _ in range(3))
    assert [first.copied, second.copied, third.copied] == [False, True, True]
    assert alone == copy == another


def test_copies_have_their_own_plans(lab: Lab, settings: Settings, tmp_path: Path) -> None:
    """Two paths in turns, whose guests are of one kind until the modules are loaded."""
    runs = [run_of(path={"rtt": rtt}, flows=[{"name": rtt[:2], "cc": "cubic"}]) for rtt in ("80 ms", "10 ms")]
    alone = []
    for run in runs:
        with Staging(tmp_path / "alone") as staging:
            alone.append(Lab(settings, tmp_path / "alone", staging).run(run)[1])
    assert alone[0] != alone[1]
    lab.run(runs[0])
    for _ in range(2):
        for run, left in zip(runs, alone, strict=True):
            cost, its = lab.run(run)
            assert cost.copied
            assert its == left


def test_guests_that_differ_before_their_modules_are_loaded_are_of_different_kinds(lab: Lab) -> None:
    run = run_of()
    assert lab.copied(run, 2) == [False, True]
    changes: list[dict[str, Any]] = [
        {"seed": run.seed + 1},
        {"memory_mb": run.memory_mb + 32},
        {"duration_us": run.duration_us + 1000},
        {"trace": replace(run.trace, ack_us=5000)},
    ]
    for changed in changes:
        assert not lab.run(run, changed)[0].copied, changed


def test_templates_are_few(lab: Lab) -> None:
    """A sweep over many seeds asks for each in turn: none is started to be ended by the next."""
    runs = [run_of()]
    runs += [replace(runs[0], seed=seed) for seed in range(2, 10)]
    for _ in range(2):
        for run in runs:
            lab.run(run)
    before = lab.templates()
    assert len({*before}) == 6
    assert sum(lab.run(run)[0].copied for run in runs) == 6
    assert lab.templates() == before


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGSEGV])
def test_a_template_that_was_killed_is_replaced(lab: Lab, sent: int) -> None:
    run = run_of()
    assert lab.copied(run, 2) == [False, True]
    (template,) = lab.templates()
    os.kill(template, sent)
    wait_for(lambda: not lab.templates())
    assert lab.copied(run, 2) == [True, True]


def test_a_copy_outlives_its_template(lab: Lab) -> None:
    run = run_of(duration="8 s", path={"bandwidth": "1 Gbit/s"})
    alone = lab.run(run)[1]
    ended: list[tuple[Cost, dict[str, str]]] = []
    thread = threading.Thread(target=lambda: ended.append(lab.run(run)))
    thread.start()
    wait_for(lambda: len(guests(lab.home)) >= 4)
    (template,) = lab.templates()[:1]
    os.kill(template, signal.SIGKILL)
    thread.join()
    ((cost, left),) = ended
    assert cost.copied
    assert left == alone


def test_a_template_that_hangs_is_done_without(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("longhaul.orchestrator.backends.guest_template._PATIENCE_S", 1.0)
    run = run_of()
    assert lab.copied(run, 2) == [False, True]
    (template,) = lab.templates()
    os.kill(template, signal.SIGSTOP)
    begun_s = time.monotonic()
    assert lab.copied(run, 2) == [True, True]
    assert time.monotonic() - begun_s < 20


def test_a_kernel_that_cannot_copy_starts_each_guest(lab: Lab) -> None:
    assert lab.copied(run_of(kernel="6.1"), 3) == [False] * 3
