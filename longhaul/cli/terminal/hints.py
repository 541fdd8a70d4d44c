"""What to do next after a result: two or three commands, on a terminal only; LONGHAUL_HINTS=off turns them off."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longhaul.results.result import Result

_MOST = 3


def show_hints(result: Result, experiment: str, *, reported: bool) -> None:
    """Print the next commands; `reported`: a report was written."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return
    from longhaul.orchestrator.system.settings import load_settings

    if not load_settings().hints:
        return
    rows = list(next_commands(result, experiment, reported=reported))[:_MOST]
    width = max((len(words) for words, _ in rows), default=0)
    for place, (words, about) in enumerate(rows):
        print(f"{'      ' if place else 'next: '}{words:{width}}  {about}", file=sys.stderr)


def next_commands(result: Result, experiment: str, *, reported: bool) -> Iterator[tuple[str, str]]:
    """Commands and what each does, the most useful first."""
    runs, name = result.runs, shlex.quote(experiment)
    if failed := [run for run in runs if run.status == "failed"]:
        yield f"longhaul log {failed[0].id}", "the messages of its guest's kernel"
    numbers = [run for run in runs if run.status != "failed"]
    missed = [one for run in numbers for one in run["expect"] if not one["ok"]]
    if missed:
        yield f"longhaul explain {missed[0]['text'].split()[0].rstrip(':')}", "what the missed measure is"
    if numbers and not reported:
        words = " ".join(run.id for run in numbers) if len(numbers) <= _MOST else f"{numbers[0].id} ..."
        yield f"longhaul report {words} --output report.html", "charts to zoom, in a browser"
    if swept := [path for path, values in _swept(result).items() if len(values) > 1]:
        yield (
            f"longhaul run {name} --out results && longhaul compare results --by {swept[0]}",
            "two of its values, with intervals",
        )
    elif len(runs) == 1 and numbers:
        yield f"longhaul run {name} --repeats 5", "intervals in place of single values"
    yield f"longhaul plan {name}", "every number that it resolves to"


def _swept(result: Result) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for run in result.runs:
        for path, value in run.point.items():
            found.setdefault(path, set()).add(str(value))
    return found
