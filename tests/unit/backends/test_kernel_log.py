"""A kernel's reports about itself are found in its log, from every checker. The logs are recordings of real guests."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.orchestrator.backends.kernel_log import first_complaint
from tests.support.folders import DATA

LOGS = DATA / "logs"


@pytest.mark.parametrize(
    ("log", "first_line"),
    [
        ("kernel_warning.txt", "WARNING: CPU: 0 PID: 1 at"),
        ("kernel_6.1_warning.txt", "WARNING: CPU: 0 PID: 1 at"),
        ("kasan.txt", "BUG: KASAN: slab-out-of-bounds in heap"),
        ("ubsan.txt", "UBSAN: shift-out-of-bounds in"),
        ("lockdep.txt", "WARNING: possible circular locking dependency detected"),
        ("sleep_in_atomic.txt", "BUG: sleeping function called from invalid context at"),
    ],
)
def test_a_report_is_found_by_its_first_line(log: str, first_line: str) -> None:
    found = first_complaint(LOGS / log)
    assert found is not None
    assert found.startswith(first_line)


@pytest.mark.parametrize("log", ["content.txt", "content_debug.txt", "empty.txt"])
def test_a_kernel_without_a_report_has_no_complaint(log: str) -> None:
    assert first_complaint(LOGS / log) is None


def test_a_report_of_an_unknown_kind_is_found_by_its_stack(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("something odd\nCPU: 0 PID: 1\nCall Trace:\n [<60030910>] ? um_set_signals+0x0/0x60\n")
    assert first_complaint(log) == "Call Trace:"


def test_a_quotation_by_the_agent_is_not_a_report(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_text("longhaul: connecting WARNING: refused\n")
    assert first_complaint(log) is None
