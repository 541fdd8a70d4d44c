"""The cause of a guest's death, from its process's end and the end of its log. Each cause has a name; a few are retried.

UML ends with SIGABRT on a panic and with code 0 on any power-off, so a guest that powered off
without a status counts as dead too.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
from pathlib import Path

from longhaul.orchestrator.system.errors import GuestDied
from longhaul.orchestrator.system.guard import GuardReport

# Deaths that are independent of the experiment: a known, rare fault of time travel itself, and a copy that was not made.
RETRYABLE = frozenset({"time_went_backwards", "not_copied"})

_LOG_TAIL_BYTES = 16_384
# A kernel that reports one fault without end, or a module that prints for every packet, would fill the disk.
_LONGEST_LOG_BYTES = 64_000_000
# With less than this free, the disk is the cause: then not even the log can record it.
_DISK_FULL_BYTES = 65_536
_MORE_ROOM = "free some space, or set LONGHAUL_HOME to a larger disk"

_NEIGHBOUR_GONE = r"lh_wire: part \d+ is gone"

# In this order: the first pattern found in the end of the log names the cause.
CAUSES: tuple[tuple[str, str, str], ...] = (
    ("time_went_backwards", r"time.travel.*time goes backwards|time goes backwards", "it will be retried once"),
    (
        "disk_full",
        r"lh_(?:trace|capture|connections): writing the (?:trace|packets) failed with error (?:28|122)\b",
        _MORE_ROOM,
    ),
    (
        "trace_not_written",
        r"lh_(?:trace|capture|connections): writing the (?:trace|packets) failed with error \d+",
        "see whether the disk of LONGHAUL_HOME is healthy",
    ),
    (
        "not_copied",
        r"copying a started guest: .*",
        "it will be retried once by a guest that starts by itself; if this machine ran out of memory, run fewer guests at once (`--jobs`)",
    ),
    (
        "host_memory_full",
        r"Bus error - the host|ran out of space|no space left on device",
        "free some of the host's shared memory, or set LONGHAUL_GUEST_MEMORY to a folder with more room",
    ),
    (
        "out_of_memory",
        r"Out of memory|System is deadlocked on memory",
        "it needs more memory than the plan gave it; please report the experiment",
    ),
    (
        # No such process, no child, or the signals that end a process for good: only the guest's kernel should send those.
        "killed",
        r"userspace - .* failed,.* errno = (?:3|10)\b|failed to wait for SIGTRAP, .*(?:errno = (?:3|10)\b|status = 0x(?:9|f)\b)",
        "another program ended one of its processes; run it again if that was not intended",
    ),
    ("neighbour_gone", _NEIGHBOUR_GONE, "another guest of the run ended; run it again if that was not intended"),
    (
        "wire_full",
        r"lh_wire: \d+ bytes of packets from \S+ to part \d+ are not enough",
        "more packets were on the way between two guests than one can hold: run it with parts: 1, and please report the experiment",
    ),
    ("panic", r"Kernel panic - not syncing: .*", "please report the experiment and its log"),
    (
        "no_ptrace",
        r"check_ptrace\s*: .*|ptrace: Operation not permitted",
        "allow it: `sysctl kernel.yama.ptrace_scope=1`, or in a container its seccomp profile (docs/containers.md)",
    ),
    (
        "no_personality",
        r"switching address randomisation off: .*",
        "allow the call personality: in a container by the seccomp profile playbooks/containers/seccomp.json (docs/containers.md)",
    ),
    ("bad_command_line", r"Unable to mount root|No working init found", "run `make clean kernel agent`"),
)


def name_death(subject: str, report: GuardReport, log: Path) -> GuestDied:
    """The error with the cause of this death."""
    if _free_bytes(log.parent) < _DISK_FULL_BYTES:
        return GuestDied(
            subject,
            "disk_full",
            f"the disk of {log.parent} is full",
            _MORE_ROOM,
        )
    tail = _tail(log)
    for cause, pattern, hint in CAUSES:
        if found := re.search(pattern, tail, re.IGNORECASE):
            return GuestDied(
                subject, cause, f"the guest died ({cause.replace('_', ' ')}): {found.group(0).strip()}", hint
            )
    if report.signal is not None:
        name = signal.Signals(report.signal).name
        hint = "run it again if that was not intended"
        if report.signal == signal.SIGKILL:
            hint = f"if this machine ran out of memory, run fewer guests at once (`--jobs`); else {hint}"
        return GuestDied(subject, "killed", f"the guest was killed by {name}", hint)
    if report.reason == "cancelled":
        return GuestDied(subject, "cancelled", "the guest was cancelled")
    last = tail.strip().splitlines()[-1:] or ["its log is empty"]
    return GuestDied(subject, "no_status", f"the guest ended with {report.exit_code} without a status: {last[0]}")


def has_lost_neighbour(log: Path) -> bool:
    """Whether this guest of a run in parts died because another one had."""
    return re.search(_NEIGHBOUR_GONE, _tail(log)) is not None


def check_log(subject: str, log: Path) -> None:
    """Raise if a running guest has printed too much."""
    with contextlib.suppress(FileNotFoundError):
        if log.stat().st_size > _LONGEST_LOG_BYTES:
            what = f"the guest printed more than {_LONGEST_LOG_BYTES / 1e6:g} MB"
            hint = "let its modules print less, as pr_info_ratelimited() does"
            raise GuestDied(subject, "endless_log", what, hint)


def _free_bytes(folder: Path) -> int:
    disk = os.statvfs(folder)
    return disk.f_bavail * disk.f_frsize


def _tail(log: Path) -> str:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - _LOG_TAIL_BYTES))
            return file.read().decode(errors="replace")
    except FileNotFoundError:
        return ""
