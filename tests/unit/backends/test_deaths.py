"""Each cause of a guest's death has a name. The logs are recordings of real deaths."""

from __future__ import annotations

import signal
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends import module_crashes
from longhaul.orchestrator.backends.deaths import RETRYABLE, name_death
from longhaul.orchestrator.kernels.build_user_modules import Place
from longhaul.orchestrator.plan.run import Module
from longhaul.orchestrator.system.guard import GuardReport
from longhaul.orchestrator.system.settings import load_settings
from tests.support.folders import DATA
from tests.support.recordings import plain_run

LOGS = DATA / "logs"


def ended(code: int | None = 0, by: int | None = None, reason: str = "exited") -> GuardReport:
    return GuardReport(code, by, reason, 0.1, 0.1, 1000)


@pytest.mark.parametrize(
    ("log", "report", "cause"),
    [
        ("guest_panic.txt", ended(None, signal.SIGABRT), "panic"),
        ("disk_full.txt", ended(None, signal.SIGABRT), "disk_full"),
        ("host_memory_full.txt", ended(None, signal.SIGABRT), "host_memory_full"),
        ("no_personality.txt", ended(1), "no_personality"),
        ("empty.txt", ended(None, signal.SIGKILL), "killed"),
        ("init_killed.txt", ended(None, signal.SIGABRT), "killed"),
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


def test_a_missing_log_is_treated_as_empty(tmp_path: Path) -> None:
    assert name_death("demo", ended(1), tmp_path / "log.txt").cause == "no_status"


def test_a_crash_of_a_users_module_is_reported_by_function_and_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report is a recording; the lines, which only the compiler has, are given here (tests/guest/user_code/test_user_modules.py has it compiled)."""
    log = tmp_path / "log.txt"
    log.write_bytes((LOGS / "module_crash.txt").read_bytes())
    place = Place("tcp_mine", "mine_ssthresh", 0x10)
    known = {place: [("lh_share", "lh_increase.h:20"), ("mine_ssthresh", "tcp_mine.c:58")]}
    monkeypatch.setattr(module_crashes, "find_lines", lambda *arguments: {one: known[one] for one in arguments[3]})
    run = replace(plain_run(), modules=(Module("tcp_mine", {}, source="0" * 32),))
    death = name_death("demo", ended(None, signal.SIGABRT), log)
    module_crashes.explain(death, run, log, load_settings())
    assert death.what.endswith("Segfault with no mm, in lh_share of lh_increase.h:20")
    assert "report" not in death.hint
    assert "6.12-debug" in death.hint
    logged = log.read_text().partition("longhaul: calls")[2].splitlines()[1:4]
    assert [" ".join(line.split()) for line in logged] == [
        "longhaul: lh_share lh_increase.h:20",
        "longhaul: mine_ssthresh tcp_mine.c:58",
        "longhaul: ? tcp_enter_recovery the kernel",
    ]


def test_a_crash_without_a_users_module_is_left_as_it_was(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    log.write_bytes((LOGS / "module_crash.txt").read_bytes())
    death = name_death("demo", ended(None, signal.SIGABRT), log)
    before = str(death)
    module_crashes.explain(death, plain_run(), log, load_settings())
    assert str(death) == before
    assert log.read_bytes() == (LOGS / "module_crash.txt").read_bytes()


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("BUG: failure at ./tcp_mine.c:58/mine_ssthresh()!\nKernel panic - not syncing: BUG!\n", "in mine_ssthresh of tcp_mine.c:58"),
        ("BUG: failure at net/ipv4/tcp.c:58/tcp_x()!\nKernel panic - not syncing: BUG!\n", "may be why"),
        ("Kernel panic - not syncing: Kernel mode signal 8\n", "signal 8 is a division by zero"),
        ("Kernel panic - not syncing: Segfault with no mm\nCall Trace:\n [<6>] ? a+0x0/0x9 [tcp_mine]\n", "may be why"),
    ],
)  # fmt: skip
def test_a_report_without_a_place_names_the_known_facts(tmp_path: Path, lines: str, text: str) -> None:
    log = tmp_path / "log.txt"
    log.write_text(lines)
    death = name_death("demo", ended(None, signal.SIGABRT), log)
    module_crashes.explain(
        death, replace(plain_run(), modules=(Module("tcp_mine", {}, source="0" * 32),)), log, load_settings()
    )
    assert text in str(death)
