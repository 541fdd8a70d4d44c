"""Programs that print a result: a failure is reported in one line, the program's own if it printed one."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from longhaul.orchestrator.system import process
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.process import ask_program, run_watched
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.untrusted_folder import hand_over

# Processes that let go of everything that they were given, and write.
_WRITERS = """
for number in 1 2 3 4 5 6 7 8; do
    (exec <&- >&- 2>&-; exec setsid sh -c 'n=0; while :; do n=$((n + 1)); : > /build/$$-$n; rm -f /build/$$-$((n - 1)); done') &
done
sleep 0.1
"""


def test_a_successful_program_returns_its_output() -> None:
    assert ask_program(["sh", "-c", "echo yes; echo no >&2"], "asking") == "yes\n"


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (["sh", "-c", "echo first >&2; echo 'no such device' >&2; exit 3"], "no such device"),
        (["sh", "-c", "exit 3"], "it ended with 3"),
        (["sh", "-c", "kill -KILL $$"], "it was ended by SIGKILL"),
        (["sh", "-c", "printf 'red \\033[31m\\n' >&2; exit 1"], "red ?[31m"),
        (["no-such-program"], "No such file or directory"),
        (["sleep", "30"], "no answer within 0.1 s"),
    ],
)
def test_the_error_of_a_program_is_its_last_message(
    argv: list[str], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if argv[0] == "sleep":
        monkeypatch.setattr(process, "_ANSWER_S", 0.1)
    with pytest.raises(BackendError) as found:
        ask_program(argv, "asking")
    assert (found.value.attempting, found.value.subject, found.value.what) == ("asking", argv[0], what)


@pytest.mark.parametrize(
    ("end", "problem"), [("exit 0", ""), ("exit 3", "it ended with 3"), ("sleep 60", "it was not done after 1 s")]
)
def test_nothing_of_a_watched_program_writes_after_its_end(end: str, problem: str, tmp_path: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    hand_over(build)
    settings = load_settings()
    # Starting a confined program takes seconds on a busy machine.
    longest_s = 1 if end.startswith("sleep") else 60
    for _ in range(3):
        command = confined(
            ["/bin/sh", "-c", _WRITERS + end], View(writes={"/build": build}), Limits(60, 2**20, 64, 2**30), settings
        )
        answer = run_watched(command, longest_s=longest_s, most_bytes=2**16, look=lambda text: None, every_s=0.1)
        changed = build.stat().st_mtime_ns, sorted(os.listdir(build))
        assert answer.problem == problem
        time.sleep(0.2)
        assert (build.stat().st_mtime_ns, sorted(os.listdir(build))) == changed


def test_a_watched_program_leaves_other_children_alone(tmp_path: Path) -> None:
    other = os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 0.5; exit 7"], os.environ)
    answer = run_watched(["sh", "-c", "echo yes"], longest_s=60, most_bytes=2**16, look=lambda text: None)
    assert answer.output == b"yes\n"
    assert os.waitstatus_to_exitcode(os.waitpid(other, 0)[1]) == 7


def test_a_confined_program_dies_with_the_process_that_started_it(tmp_path: Path) -> None:
    build = tmp_path / "build"
    build.mkdir()
    hand_over(build)
    view, limits = View(writes={"/build": build}), Limits(60, 2**20, 64, 2**30)
    program = ["/bin/sh", "-c", "while :; do echo >> /build/lines; sleep 0.05; done"]
    command = confined(program, view, limits, load_settings())
    first = os.posix_spawn(command[0], command, os.environ)
    while not (build / "lines").exists():
        time.sleep(0.05)
    os.kill(first, signal.SIGKILL)
    os.waitpid(first, 0)
    time.sleep(0.5)
    lines = (build / "lines").stat().st_size
    time.sleep(0.5)
    assert (build / "lines").stat().st_size == lines
