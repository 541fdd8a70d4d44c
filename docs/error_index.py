"""The index of errors: every kind with its exit code and status, every death of a guest, and real error messages."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.deaths import CAUSES, RETRYABLE
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.errors import BackendUnavailable, LonghaulError, error_tree
from longhaul.orchestrator.system.settings import load_settings, scheduler_address

_REPOSITORY = Path(__file__).resolve().parent.parent

Table = Callable[[Sequence[str], Sequence[Sequence[object]]], Iterator[str]]


def error_index(table: Table) -> Iterator[str]:
    """The page."""
    yield "# Errors\n"
    yield "Every error is one sentence: what was attempted, on what, what happened, what to do. The command line prints it to standard error and ends with"
    yield "the exit code; with `--json` it is the field `error` of the document. The service responds with a problem document (RFC 9457) of that status, whose `type` is `/problems/` plus the kind.\n"
    rows = [
        (f"`{one.kind()}`", (one.__doc__ or "").strip().splitlines()[0], one.exit_code, one.http_status)
        for one in error_tree()
        if one is not LonghaulError
    ]
    yield from table(("kind", "what it means", "exit code", "status"), rows)
    yield "\nExit code 1 is not an error: a measured expectation, claim or gate failed ([the command line](command-line.md)).\n"
    yield "## Examples\n"
    yield "```text"
    for error in _examples():
        yield f"longhaul: {error}".replace(f"{_REPOSITORY}/", "")
    yield "```\n"
    yield "## When a guest dies\n"
    yield "A run whose guest ends before its work fails (`guest-died`, exit code 4), and its log is kept in `LONGHAUL_HOME/logs`. The end of the log shows the cause:\n"
    deaths = [
        (f"`{cause}`", f"{hint}{'; it says nothing about the experiment' if cause in RETRYABLE else ''}")
        for cause, _, hint in CAUSES
    ]
    deaths += [
        (
            "`killed`",
            "a user ended it, or this machine ran out of memory: run fewer guests at once (`--jobs`), or run it again if that was not intended",
        ),
        ("`cancelled`", "it was cancelled"),
        ("`endless_log`", "let its modules print less: a log has at most 64 MB"),
        ("`no_status`", "none of these: its last line is in the message; please report the experiment and its log"),
    ]
    yield from table(("cause", "what to do"), deaths)
    yield "\n`longhaul doctor` lists what a machine lacks before anything is tried."


def _examples() -> Iterator[LonghaulError]:
    """Errors raised by the code that raises them."""
    with tempfile.TemporaryDirectory() as folder:
        empty = replace(load_settings(), home=Path(folder), cache=Path("cache"), database="", agent=Path("agent"))
        run = compile_plan(load_experiment("quick")).runs[0]
        for attempt in (
            lambda: load_experiment("quik"),
            lambda: load_experiment("quick", ["path.rtt=4"]),
            lambda: load_experiment("quick", ["flows.app.cc=cubik"]),
            lambda: compile_plan(load_experiment("quick"), backend="moon"),
            lambda: scheduler_address("here", "LONGHAUL_DASK"),
            lambda: Store(empty).get("abc"),
        ):
            try:
                attempt()
            except LonghaulError as error:
                yield error
        kept = [
            (piece, remedy)
            for piece, remedy in open_backend("sandbox", empty).check(run)
            if folder not in piece + remedy
        ]
        yield BackendUnavailable("sandbox", kept)
