"""A home has one service and one dispatcher at a time; each ends at once on a signal and leaves no process behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from longhaul.orchestrator.system.locks import locked, owned
from tests.support.programs import run_program
from tests.support.service import LONGHAUL, Service
from tests.support.waiting import wait_for

_PATIENCE_S = 60


def of_home(home: Path) -> dict[int, str]:
    """The processes that work for this home: pid and command line."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if f"LONGHAUL_HOME={home}".encode() in (process / "environ").read_bytes().split(b"\0"):
                found[int(process.name)] = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
        except OSError:
            continue
    return found


def test_a_second_service_of_a_home_names_the_first_and_leaves_no_process(tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = Service(home)
    first.start()
    try:
        before = of_home(home)
        environment = {**os.environ, "LONGHAUL_HOME": str(home)}
        second = run_program([*LONGHAUL, "serve", "--port", "0"], env=environment, timeout=_PATIENCE_S)
        assert (second.returncode, second.stdout) == (2, "")
        assert second.stderr == (
            f"longhaul: serving the home {home}: another service uses it, process {first.pid} at {first.url}; "
            "stop that one first, or set LONGHAUL_HOME to another folder\n"
        )
        assert of_home(home).keys() <= before.keys()
    finally:
        first.stop()
    assert of_home(home) == {}
    # The lock file of a stopped service does not block the next one.
    again = Service(home, tokens=first.tokens)
    again.start()
    again.stop()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_dispatcher_that_waits_for_another_one_stops_on_a_signal(tmp_path: Path, number: signal.Signals) -> None:
    log = tmp_path / "log"
    environment = {**os.environ, "LONGHAUL_HOME": str(tmp_path)}
    with locked(tmp_path / "dispatch.lock"), log.open("w") as output:
        argv = [sys.executable, "-m", "longhaul.orchestrator.execution.dispatch"]
        with subprocess.Popen(argv, stderr=output, env=environment) as waiting:
            try:
                wait_for(lambda: "waiting for its end" in log.read_text())
                waiting.send_signal(number)
                assert waiting.wait(_PATIENCE_S) == 0
            finally:
                waiting.kill()


def test_a_lock_contains_the_text_of_its_owner_until_it_is_released(tmp_path: Path) -> None:
    file = tmp_path / "lock"
    with owned(file) as write:
        write("a long word")
        write("me")
        with pytest.raises(BlockingIOError) as refused, owned(file):
            pass
        assert refused.value.strerror == "me"
    with owned(file), pytest.raises(BlockingIOError) as refused, owned(file):
        pass
    assert refused.value.strerror == ""
