"""Each way a guest can die has a name. The logs are recordings of real deaths."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from orchestrator.backends.deaths import RETRYABLE, name_death
from orchestrator.process import GuardReport

LOGS = Path(__file__).parent.parent / "data" / "logs"


def ended(code: int | None = 0, by: int | None = None, reason: str = "exited") -> GuardReport:
    return GuardReport(code, by, reason, 0.1, 0.1, 1000)


@pytest.mark.parametrize(
    ("log", "report", "cause"),
    [
        ("guest_panic.txt", ended(None, signal.SIGABRT), "panic"),
        ("host_memory_full.txt", ended(None, signal.SIGABRT), "host_memory_full"),
        ("no_personality.txt", ended(1), "no_personality"),
        ("empty.txt", ended(None, signal.SIGKILL), "killed"),
        ("empty.txt", ended(0), "no_status"),
    ],
)
def test_a_death_is_named(log: str, report: GuardReport, cause: str) -> None:
    death = name_death("demo", report, LOGS / log)
    assert death.cause == cause
    assert death.cause not in RETRYABLE
    assert str(death).startswith("running guest demo: the guest ")


def test_time_going_backwards_is_retried(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("Kernel panic - not syncing: time-travel: time goes backwards 42 -> 41\n")
    assert name_death("demo", ended(None, signal.SIGABRT), log).cause in RETRYABLE


def test_a_log_that_never_was_is_an_empty_one(tmp_path: Path) -> None:
    assert name_death("demo", ended(1), tmp_path / "log.txt").cause == "no_status"
