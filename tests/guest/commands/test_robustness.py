"""Killed processes: one clear error, the right exit code, no process or partial result left."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.guest_logs import find_log
from longhaul.orchestrator.system.settings import Settings
from tests.support.guests import experiment, guards, guests, kernels
from tests.support.waiting import wait_for

_SOON_S = 20
LONG = {"path": {"bandwidth": "1 Gbit/s", "rtt": "40 ms"}, "duration": "1000 s", "sample": "10 ms"}


@pytest.fixture(params=[1, 4])
def parts(request: pytest.FixtureRequest) -> int:
    """In how many guests."""
    return int(request.param)


@pytest.fixture
def written(tmp_path: Path, parts: int) -> Path:
    """A run of minutes, as a file."""
    file = tmp_path / "long.json"
    flows = [{"name": f"flow{rtt}", "cc": "cubic", "rtt": f"{rtt} ms"} for rtt in (40, 50, 60)]
    file.write_text(json.dumps(experiment(**LONG, flows=flows, parts=parts).model_dump(mode="json", exclude_none=True)))
    return file


_WRITTEN = {"experiment": "long", "flows": [{"name": "app", "cc": "cubic"}]}

Command = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def longhaul() -> Iterator[Command]:
    """`longhaul run FILE --json` in the background, ended after the test."""
    # The tests may run as a background job, which ignores Ctrl-C, and children inherit that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    started: list[subprocess.Popen[str]] = []

    def start(file: Path, home: Path, **environment: str) -> subprocess.Popen[str]:
        command = subprocess.Popen(
            [sys.executable, "-m", "longhaul.cli.main", "run", str(file), "--json"],
            env={**os.environ, "LONGHAUL_HOME": str(home), **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(command)
        return command

    yield start
    for command in started:
        command.kill()
        command.communicate()
    signal.signal(signal.SIGINT, before)


def assert_nothing_left(home: Path) -> None:
    # A guard that has just been started has no command line of its own yet, and removes the folder later.
    wait_for(lambda: not guests(home) and not guards(home) and not staged(home), _SOON_S)
    assert not list(home.glob("runs/*/*"))


def staged(home: Path) -> list[Path]:
    """What is left of runs in the making."""
    folders = [folder for folder in home.glob("staging/*") if folder.is_dir()]
    return [entry for folder in folders for entry in folder.iterdir() if entry.name != "lock"]


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 1.5])
def test_a_killed_guest_is_named(longhaul: Command, written: Path, parts: int, tmp_path: Path, delay_s: float) -> None:
    home = tmp_path / "home"
    command = longhaul(written, home)
    wait_for(lambda: len(kernels(home)) == parts)
    time.sleep(delay_s)
    os.kill(kernels(home)[-1], signal.SIGKILL)
    output, errors = command.communicate(timeout=30)
    assert command.returncode == 4, errors
    (run,) = json.loads(output)["runs"]
    assert run["status"] == "failed"
    assert "SIGKILL" in run["error"]["what"]
    assert_nothing_left(home)


@pytest.mark.parametrize("delay_s", [0.0, 0.4, 1.5])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_killed_longhaul_leaves_no_process_or_partial_run(
    longhaul: Command, written: Path, tmp_path: Path, sent: int, code: int, delay_s: float
) -> None:
    home = tmp_path / "home"
    command = longhaul(written, home)
    wait_for(lambda: kernels(home))
    time.sleep(delay_s)
    command.send_signal(sent)
    command.communicate(timeout=30)
    assert command.returncode == code
    assert_nothing_left(home)


@pytest.mark.parametrize("delay_s", [0.0, 0.02, 0.5])
@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_killed_longhaul_leaves_no_template_or_copy(
    longhaul: Command, tmp_path: Path, sent: int, code: int, delay_s: float
) -> None:
    """The second run of a sweep is a copy: with it and its template there are three kernels."""
    home, file = tmp_path / "home", tmp_path / "sweep.json"
    sweep = {"path.rtt": ["40 ms", "41 ms"]}
    file.write_text(json.dumps({**_WRITTEN, **LONG, "parts": 1, "sweep": sweep}))
    command = longhaul(file, home, LONGHAUL_JOBS="2")
    wait_for(lambda: len(kernels(home)) == (2 if delay_s == 0 else 3))
    time.sleep(delay_s)
    command.send_signal(sent)
    command.communicate(timeout=30)
    assert command.returncode == code
    # The folder of a run that has no guard yet is deleted by the next command.
    wait_for(lambda: not guests(home) and not guards(home), _SOON_S)
    if delay_s > 0:
        assert_nothing_left(home)


def test_a_killed_guard_ends_its_copy(longhaul: Command, tmp_path: Path) -> None:
    home, file = tmp_path / "home", tmp_path / "sweep.json"
    sweep = {"path.rtt": ["40 ms", "41 ms"]}
    file.write_text(json.dumps({**_WRITTEN, **LONG, "parts": 1, "sweep": sweep}))
    command = longhaul(file, home, LONGHAUL_JOBS="2")
    wait_for(lambda: len(kernels(home)) == 3)
    for guard in guards(home):
        os.kill(guard, signal.SIGKILL)
    output, _ = command.communicate(timeout=30)
    assert command.returncode == 4
    assert [run["status"] for run in json.loads(output)["runs"]] == ["failed", "failed"]
    assert_nothing_left(home)


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sweep_reports_its_kept_runs_and_continues_from_them(
    longhaul: Command, tmp_path: Path, sent: int
) -> None:
    home, file = tmp_path / "home", tmp_path / "sweep.yaml"
    document = {
        "experiment": "sweep",
        "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms"},
        "flows": [{"name": "app", "cc": "cubic"}],
        # The longest run starts first, next to the others.
        "duration": "1 s",
        "sweep": {"duration": ["1 s", "2 s", "3600 s"]},
    }
    file.write_text(json.dumps(document))
    command = longhaul(file, home, LONGHAUL_JOBS="2")
    wait_for(lambda: len(list((home / "runs").glob("*/*/manifest.json"))) == 2)
    command.send_signal(sent)
    _, errors = command.communicate(timeout=60)
    assert "longhaul: stopped; 2 of 3 runs finished and are kept" in errors
    assert "the same command again runs only the rest" in errors
    wait_for(lambda: not guests(home) and not guards(home), _SOON_S)


def test_a_killed_guard_ends_its_guest(longhaul: Command, written: Path, parts: int, tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = longhaul(written, home)
    wait_for(lambda: len(kernels(home)) == parts)
    assert len(guards(home)) == parts
    os.kill(guards(home)[0], signal.SIGKILL)
    output, _ = command.communicate(timeout=30)
    assert command.returncode == 4
    assert json.loads(output)["runs"][0]["status"] == "failed"
    assert_nothing_left(home)


def test_a_hanging_guest_is_ended(longhaul: Command, written: Path, parts: int, tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = longhaul(written, home, LONGHAUL_STALL_LIMIT_S="2")
    wait_for(lambda: len(kernels(home)) == parts)
    time.sleep(0.3)
    os.kill(kernels(home)[0], signal.SIGSTOP)
    output, _ = command.communicate(timeout=30)
    assert command.returncode == 4
    assert "no virtual progress" in json.loads(output)["runs"][0]["error"]["what"]
    assert_nothing_left(home)


def test_a_run_past_its_wall_limit_is_ended(longhaul: Command, written: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    command = longhaul(written, home, LONGHAUL_WALL_LIMIT_S="2")
    output, _ = command.communicate(timeout=30)
    assert command.returncode == 4
    assert "2 s of wall time" in json.loads(output)["runs"][0]["error"]["what"]
    assert_nothing_left(home)


def starve(pipeline: Pipeline, memory_mb: int) -> RunDocument:
    """A gigabit guest with too little RAM: its document."""
    plan = compile_plan(experiment(path={"bandwidth": "1 Gbit/s", "rtt": "100 ms"}))
    (document,) = pipeline.execute(replace(plan, runs=(replace(plan.runs[0], memory_mb=memory_mb),)))
    return document


@pytest.mark.parametrize(("memory_mb", "reason"), [(10, "Too few physical memory"), (20, "out of memory")])
def test_a_guest_without_memory_reports_it(pipeline: Pipeline, memory_mb: int, reason: str) -> None:
    """A kernel that does not boot, and one that panics at work."""
    document = starve(pipeline, memory_mb)
    assert document["status"] == "failed"
    assert reason in document["error"]["what"]
    assert pipeline.store.find(document["run"]) is None


def test_the_log_of_a_dead_guest_is_kept(pipeline: Pipeline) -> None:
    document = starve(pipeline, 20)
    assert f"`longhaul log {document['run'][:8]}` shows its log" in document["error"]["hint"]
    assert "Kernel panic" in find_log(pipeline.store, document["run"][:8]).read_text()


@contextmanager
def small_disk(place: Path, options: str) -> Iterator[Path]:
    """A real file system in memory, smaller than the trace of a fast run."""
    if os.geteuid() != 0:
        pytest.fail("mounting a small file system needs root: run the tests as root")
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "longhaul-test", str(place)], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def test_a_full_disk_is_reported(longhaul: Command, written: Path, tmp_path: Path) -> None:
    written.write_text(written.read_text().replace('"10 ms"', '"every-ack"'))
    with small_disk(tmp_path / "small", "size=4m") as disk:
        command = longhaul(written, disk / "home")
        output, errors = command.communicate(timeout=120)
        assert command.returncode == 4, errors
        error = json.loads(output)["runs"][0]["error"]
        # Four guests' files alone may fill it.
        assert "is full" in error["what"] or "No space left on device" in error["what"]
        assert "LONGHAUL_HOME" in error["hint"]
        assert_nothing_left(disk / "home")


def test_a_read_only_home_is_reported(longhaul: Command, tmp_path: Path) -> None:
    with small_disk(tmp_path / "readonly", "size=1m,ro") as disk:
        command = longhaul(Path("quick"), disk / "home")
        output, errors = command.communicate(timeout=30)
    assert command.returncode == 4
    assert "Read-only file system" in errors
    assert "LONGHAUL_HOME" in errors
    assert "Traceback" not in errors
    assert json.loads(output)["error"]["error"] == "ResultsError"


def test_a_home_that_cannot_be_written_is_reported(longhaul: Command, settings: Settings, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file where a folder should be")
    command = longhaul(Path("quick"), blocked / "home")
    _, errors = command.communicate(timeout=30)
    assert command.returncode == 4
    assert "LONGHAUL_HOME" in errors
    assert "Traceback" not in errors


def test_two_commands_at_once_do_not_collide(longhaul: Command, tmp_path: Path) -> None:
    both = [longhaul(Path("quick"), tmp_path / "home") for _ in range(2)]
    documents = [json.loads(command.communicate(timeout=60)[0]) for command in both]
    assert len({document["runs"][0]["trace_sha256"] for document in documents}) == 1
    assert all(command.returncode == 0 for command in both)


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT])
def test_a_killed_longhaul_leaves_no_iperf3(longhaul: Command, tmp_path: Path, sent: int) -> None:
    home, file = tmp_path / "home", tmp_path / "long.json"
    flows = [{"name": "one", "cc": "cubic", "tool": "iperf3"}]
    file.write_text(json.dumps(experiment(**LONG, flows=flows, parts=1).model_dump(mode="json", exclude_none=True)))
    command = longhaul(file, home)
    wait_for(lambda: kernels(home))
    # By now both programs run in the guest, each address space as a process of this machine.
    time.sleep(1.5)
    command.send_signal(sent)
    command.communicate(timeout=30)
    assert_nothing_left(home)
