"""Watches a running guest until it ends, or several that run together, and names a bad end."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from longhaul.orchestrator.backends.deaths import check_log, name_death
from longhaul.orchestrator.backends.kernel_log import first_complaint
from longhaul.orchestrator.backends.stalls import Stall
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.system.errors import BackendError, GuestDied, KernelComplained, RunTimedOut
from longhaul.orchestrator.system.guard import Effort, GuardReport
from longhaul.orchestrator.system.settings import Settings

# How often the trace's end is read while a guest runs. It only updates the shown progress; the end of a run is noticed at once.
_LOOK_EVERY_S = 0.1


class Watched(Protocol):
    """A guest under its guard, or several together."""

    @property
    def logs(self) -> Sequence[Path]:
        """The log of each guest."""
        ...

    def wait(self, timeout_s: float) -> GuardReport | None:
        """The report if it has ended within the timeout, else None."""
        ...

    def effort(self) -> Effort | None:
        """What it computes; None if this machine's kernel does not list the children of processes."""
        ...

    def close(self) -> None:
        """End it if it still runs."""
        ...


@contextlib.contextmanager
def log_left(guard: Watched) -> Iterator[None]:
    """End the guest with the context. Its log is kept also if the guest does not end by itself, when its guard removes its folder."""
    printed: dict[Path, bytes] = {}
    try:
        yield
    except (GuestDied, RunTimedOut):
        for log in guard.logs:
            with contextlib.suppress(OSError):
                printed[log] = log.read_bytes()
        raise
    finally:
        guard.close()
        for log, text in printed.items():
            if text and not log.exists():
                log.parent.mkdir(parents=True, exist_ok=True)
                log.write_bytes(text)


def follow(
    run: Run,
    trace: Path,
    guard: Watched,
    settings: Settings,
    progress: Progress,
    set_up_s: float = 0.0,
    check: Callable[[], None] | None = None,
) -> GuardReport:
    """Report how far the trace has come until the guard reports the end; RunTimedOut if it makes no progress.

    `set_up_s` more are allowed before the first record; `check` is called repeatedly, and ends the run by raising.
    """
    # The modules that read traces take as long to load as a short run; by now the guest is running.
    from longhaul.orchestrator.trace.records import TraceTail

    tail = TraceTail(trace)
    seen_ns, stall = -1, Stall(settings.stall_limit_s, set_up_s, time.monotonic())
    while (report := guard.wait(_LOOK_EVERY_S)) is None:
        for log in guard.logs:
            check_log(run.experiment, log)
        if check:
            check()
        now_ns = tail.virtual_ns()
        if now_ns > seen_ns:
            seen_ns = now_ns
            stall.progress(time.monotonic())
            progress(now_ns)
        elif stuck := stall.check(guard.effort(), time.monotonic()):
            raise RunTimedOut(
                "running",
                run.experiment,
                f"no {run.clock} progress in {stuck}, at {run.clock} {max(seen_ns, 0) / 1e9:.3f} s",
                _stall_hint(run),
            )
    if report.reason == "wall_limit":
        raise RunTimedOut(
            "running",
            run.experiment,
            f"not finished after {settings.wall_limit_s} s of wall time",
            "shorten it, or raise LONGHAUL_WALL_LIMIT_S",
        )
    return report


def _stall_hint(run: Run) -> str:
    hint = "see its log, and raise LONGHAUL_STALL_LIMIT_S if its work takes that long"
    if names := [flow.name for flow in run.flows if flow.program is not None]:
        return f"computing takes no virtual time, so a program of {', '.join(names)} may compute without end; {hint}"
    return hint


def check_end(run: Run, directory: Path, report: GuardReport) -> None:
    """Raise the error of a run that went wrong."""
    status = read_status(directory)
    if status is None:
        raise name_death(run.experiment, report, directory / "log.txt")
    if complaint := first_complaint(directory / "log.txt"):
        raise KernelComplained(
            "running guest", run.experiment, f"its kernel complained: {complaint}", "please report it with its log"
        )
    check_status(status)


def check_status(status: Mapping[str, str]) -> None:
    """Raise the error that the agent reported."""
    if status["status"] != "done":
        raise BackendError(*(str(status.get(part, "")) for part in ("attempting", "subject", "what", "hint")))


def read_status(directory: Path) -> dict[str, str] | None:
    """The content of the agent's status.json, or None."""
    try:
        found = json.loads((directory / "status.json").read_text())
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and "status" in found else None
