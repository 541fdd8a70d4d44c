"""Runs a user's Mininet script in a guest, from its folder, and leaves the files of docs/run-directory.md.

A script gets no input, and its output passes through files of the run directory: no event on a terminal reaches the guest, so its virtual
time stays the same.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.cpus import claim_cpu
from longhaul.orchestrator.backends.deaths import name_death
from longhaul.orchestrator.backends.guest import TRACE, Guests
from longhaul.orchestrator.backends.guest_programs import PRINTED
from longhaul.orchestrator.backends.guest_root import make_root, place
from longhaul.orchestrator.backends.guest_watch import check_status, read_status
from longhaul.orchestrator.backends.kernel_log import first_complaint
from longhaul.orchestrator.backends.programs import FILES, PYTHON, SHARED, read_exit_code, write_program
from longhaul.orchestrator.backends.stalls import ScriptProgress
from longhaul.orchestrator.plan.meaning import Script
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import BackendError, KernelComplained, RunTimedOut
from longhaul.orchestrator.system.guard import Guard, GuardReport
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# What starts a script in a guest, and the text that it runs there.
STARTER = Path(__file__).resolve().parent.parent / "mininet_programs" / "mininet_script.py"
TEXT = "script.txt"
# What a guest of a script loads beyond the congestion controls, the clock only in virtual time; the script itself loads tcp_probe.
_CONNECTIONS, _CLOCK, _TCP_PROBE = "lh_connections", "lh_clock", "lh_tcpprobe"
_LOOK_EVERY_S = 0.05
# What it printed, and the name under which that is kept.
_STREAMS = (("output.txt", "script.out"), ("errors.txt", "script.err"))


class ScriptFailed(BackendError):
    """A script that ended with another exit code than 0."""

    def __init__(self, subject: str, code: int) -> None:
        super().__init__("running", subject, f"the script ended with exit code {code}", "see what it printed")
        self.code = code


@dataclass(frozen=True, slots=True)
class Output:
    """Where the output and the errors of a script go, as they come."""

    output: BinaryIO
    errors: BinaryIO


def modules_of_script(guests: Guests, kernel: str, clock: str) -> list[Path]:
    """The modules that a guest of a script loads in this order; the last one waits until the script asks for it."""
    names = [*([_CLOCK] if clock == "virtual" else []), _CONNECTIONS, _TCP_PROBE]
    return [*guests.congestion_controls(kernel), *(guests.module(name, kernel) for name in names)]


def run_script(guests: Guests, run: Run, directory: Path, output: Output | None) -> Cost:
    """Run it; ScriptFailed with its exit code, if that is not 0. What it printed is kept, and goes to `output` too."""
    script, settings = run.script, guests.settings
    assert script is not None
    _furnish(guests, run, script, directory)
    with claim_cpu() as cpu:
        guard = guests.start(directory, cpu, run, consoles=FILES.arguments, guarding=FILES.guarding)
        try:
            watch = None
            if run.clock == "virtual":
                watch = ScriptProgress(script.file, directory / TRACE, guard, settings.stall_limit_s)
            report = _follow_output(guard, directory, output, watch)
        finally:
            guard.close()
    if code := exit_code(" ".join([script.file, *script.arguments]), directory, report):
        raise ScriptFailed(script.file, code)
    (directory / PRINTED).mkdir()
    for name, kept in _STREAMS:
        (directory / name).rename(directory / PRINTED / kept)
    return Cost(report.wall_s, report.cpu_s, report.max_rss_kb)


def _furnish(guests: Guests, run: Run, script: Script, directory: Path) -> None:
    guest = make_root(directory)
    modules = modules_of_script(guests, run.kernel, run.clock)
    for module in modules:
        place(module, guest / "modules" / module.name)
    place(STARTER, guest / STARTER.name)
    (guest / TEXT).write_text(script.text)
    words = [script.file, *script.arguments]
    if not Path(script.folder).is_dir():
        raise BackendError("running", script.file, f"the folder where it starts, {script.folder}, is gone", "create it")
    folders = [Path(word).parent for word in words if word.startswith("/")]
    shown = [script.folder, *(str(folder) for folder in folders if folder.is_dir())]
    words = [PYTHON, f"{SHARED}/{STARTER.name}", *words]
    write_program(guest, words, FILES, script.folder, shown, [module.stem for module in modules[:-1]])


def clear(directory: Path) -> None:
    """Remove what a run does not keep: the guest's files, and the lines of its clock."""
    shutil.rmtree(directory / "guest", ignore_errors=True)
    shutil.rmtree(directory / "home", ignore_errors=True)


def _follow_output(guard: Guard, directory: Path, output: Output | None, watch: ScriptProgress | None) -> GuardReport:
    sinks = (output.output, output.errors) if output else (None, None)
    with contextlib.ExitStack() as files:
        pairs = []
        for (name, _), sink in zip(_STREAMS, sinks, strict=True):
            (directory / name).touch()
            pairs.append((files.enter_context((directory / name).open("rb")), sink))
        report = None
        while report is None:
            report = guard.wait(_LOOK_EVERY_S)
            printed = [_copy_output(source, sink) for source, sink in pairs]
            if watch and report is None:
                watch.check(printed=any(printed))
    return report


def _copy_output(source: BinaryIO, sink: BinaryIO | None) -> bool:
    """Whether there was any."""
    text = source.read()
    if text and sink:
        sink.write(text)
        sink.flush()
    return bool(text)


def exit_code(subject: str, directory: Path, report: GuardReport) -> int:
    """The exit code of the program of a guest that has ended; the error of a bad end."""
    if report.reason == "wall_limit":
        raise RunTimedOut(
            "running",
            subject,
            "it took longer than LONGHAUL_WALL_LIMIT_S",
            "shorten it, or raise LONGHAUL_WALL_LIMIT_S",
        )
    if (code := read_exit_code(directory / "guest")) is None:
        if (status := read_status(directory / "guest")) is not None:
            check_status(status)
        raise name_death(subject, report, directory / "log.txt")
    if complaint := first_complaint(directory / "log.txt"):
        raise KernelComplained("running", subject, f"the guest's kernel complained: {complaint}", "please report it")
    return code


def absolute_words(words: Sequence[str]) -> list[str]:
    """A link to a folder below /tmp leads nowhere in the guest, where that is empty: the folder itself is named."""
    return [str(Path(word).parent.resolve() / Path(word).name) if word.startswith("/") else word for word in words]
