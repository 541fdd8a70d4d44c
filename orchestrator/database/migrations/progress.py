"""How far a migration of many runs is: one line on standard error, where a person watches, if it takes longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import sqlalchemy as sa

_Rows = TypeVar("_Rows", bound=Sequence[object])
# Less is over before anyone has read a line.
_SOON_S, _EVERY_S = 1.0, 0.2


def shown(connection: sa.Connection, doing: str, batches: Iterable[_Rows]) -> Iterator[_Rows]:
    """The same batches of rows of runs, with a line that says what is done with them, and with how many it is done."""
    if not sys.stderr.isatty():
        yield from batches
        return
    done, total, next_s = 0, 0, time.monotonic() + _SOON_S
    for rows in batches:
        yield rows
        done += len(rows)
        if time.monotonic() < next_s:
            continue
        next_s = time.monotonic() + _EVERY_S
        total = total or connection.execute(sa.text("SELECT count(*) FROM runs")).scalar_one()
        _print(doing, done, total)
    if total:
        _print(doing, done, total)
        print(file=sys.stderr)


def _print(doing: str, done: int, total: int) -> None:
    line = f"\rbringing the database to this version, once: {doing} of {done:,} of {total:,} runs"
    print(line, end="", file=sys.stderr, flush=True)
