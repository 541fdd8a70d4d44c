"""A refusal by the operating system is reported by its name, with a remedy that helps, and none that does not."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends.guest import Guests
from longhaul.orchestrator.execution.runner import Runner
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.settings import load_settings
from tests.support.recordings import plain_run


class Refused:
    """A backend that the system refuses something."""

    name = "sandbox"

    def __init__(self, attempt: Callable[[Path], object]) -> None:
        self._attempt = attempt

    def check(self, run: Any) -> list[tuple[str, str]]:
        return []

    def identity(self, run: Any) -> dict[str, str]:
        return {}

    def programs(self, run: Any) -> dict[str, str]:
        return {}

    def artefacts(self, run: Any) -> dict[str, Path]:
        return {}

    def growing_traces(self, run: Any, directory: Path) -> list[Path]:
        return []

    def run(self, run: Any, directory: Path, progress: Any) -> Any:
        self._attempt(directory)


def no_space(directory: Path) -> None:
    with Path("/dev/full").open("wb", buffering=0) as full:
        full.write(b"x")


def no_program(directory: Path) -> None:
    subprocess.run(["longhaul-no-such-program"], check=False)


def no_right(directory: Path) -> None:
    program = directory / "program"
    program.touch(0o644)
    subprocess.run([str(program)], check=False)


def no_right_elsewhere(directory: Path) -> None:
    os.execve(__file__, [__file__], {})


def no_descriptor(directory: Path) -> None:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(directory / "trace.bin"))


def no_answer(directory: Path) -> None:
    raise ConnectionResetError(errno.ECONNRESET, os.strerror(errno.ECONNRESET))


@pytest.mark.parametrize(
    ("attempt", "error_text", "helps"),
    [
        (no_space, "No space left on device", "free some space, or set LONGHAUL_HOME to another folder"),
        (no_program, "longhaul-no-such-program: No such file or directory", "`longhaul doctor` lists what is missing"),
        (no_right, "program: Permission denied", "check its permissions, or set LONGHAUL_HOME to another folder"),
        (no_right_elsewhere, "test_refusals.py: Permission denied", "check its permissions"),
        (no_descriptor, "trace.bin: Too many open files", "allow more open files"),
        (no_answer, "Connection reset by peer", ""),
    ],
)
def test_a_refusal_is_reported_by_its_name(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    attempt: Callable[[Path], object],
    error_text: str,
    helps: str,
) -> None:
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path))
    store = Store(load_settings())
    with Staging(store.home) as staging, pytest.raises(BackendError) as raised:
        Runner(Refused(attempt), store).run(plain_run(), {}, staging, lambda virtual_ns: None)
    error = raised.value
    assert error.attempting == "running in"
    assert error.what.endswith(error_text)
    assert helps in error.hint
    assert ("space" in error.hint) == (attempt is no_space)
    assert ("LONGHAUL_HOME" in error.hint) == (attempt in (no_space, no_right))
    assert bool(error.hint) == bool(helps)
    store.database.close()


def test_a_folder_for_guest_memory_that_is_missing_is_named(tmp_path: Path) -> None:
    settings = replace(load_settings(), guest_memory_dir=tmp_path / "none")
    missing = dict(Guests(settings, "sandbox").missing("6.12"))
    remedy = "create it, or set LONGHAUL_GUEST_MEMORY to another one"
    assert missing[f"a folder {tmp_path / 'none'} that this user can write"] == remedy
