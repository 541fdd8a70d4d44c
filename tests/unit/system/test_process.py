"""Programs that print a result: a failure is reported in one line, the program's own if it printed one."""

from __future__ import annotations

import pytest

from longhaul.orchestrator.system import process
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.process import ask_program


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
