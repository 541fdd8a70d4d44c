"""What a person gets: files, each whole or not at all, and standard output; one sentence where either cannot be written.

A file is written beside its place and renamed, so that nobody reads half of one. What a link leads to, what is no plain file
(/dev/stdout, a pipe), and a file in a folder that others own, is written where it is.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longhaul.orchestrator.system.errors import PlanError, ResultsError, remedy

_ATTEMPT, _ELSEWHERE = "writing", "name another file"
STANDARD_OUTPUT = "standard output"


def write_whole(output: Path, content: str | bytes) -> None:
    """Make this the content of a file."""
    with whole(output) as place:
        place.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole(output: Path) -> Iterator[Path]:
    """Where to write what is to be at `output`; it is there when the context has ended well."""
    check_places(output)
    try:
        if _stays(output):
            yield output
        else:
            with _beside(output) as place:
                yield place
    except OSError as error:
        what, hint = error.strerror or str(error), remedy(error, _ELSEWHERE) or _ELSEWHERE
        raise ResultsError(_ATTEMPT, str(output), what, hint) from error


def _stays(output: Path) -> bool:
    """Whether it is there and cannot be replaced by another."""
    plain = output.is_file() and not output.is_symlink()
    return os.path.lexists(output) and not (plain and os.access(output.parent, os.W_OK))


@contextmanager
def _beside(output: Path) -> Iterator[Path]:
    place = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        yield place
        if output.exists():
            # Who may read it is as it was.
            shutil.copymode(output, place)
        place.replace(output)
    finally:
        place.unlink(missing_ok=True)


def check_places(*outputs: Path | None) -> None:
    """Whether files could be written there, asked before hours of work for them; PlanError where not."""
    for output in filter(None, outputs):
        if output.is_dir():
            raise PlanError(_ATTEMPT, str(output), "it is a folder", "name a file")
        if not output.parent.is_dir():
            hint = f"make it first, or {_ELSEWHERE}"
            raise PlanError(_ATTEMPT, str(output), f"there is no folder {output.parent}", hint)
        if not os.access(output if output.exists() else output.parent, os.W_OK):
            raise PlanError(_ATTEMPT, str(output), "you may not write there", _ELSEWHERE)


class _StandardOutput(io.TextIOWrapper):
    """Standard output, whose errors say that they are its own."""

    def write(self, text: str) -> int:
        with _its_own():
            return super().write(text)

    def flush(self) -> None:
        with _its_own():
            super().flush()


@contextmanager
def _its_own() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = STANDARD_OUTPUT
        raise


@contextmanager
def standard_output() -> Iterator[None]:
    """Within it, what cannot be printed is an error like any other; a reader that has seen enough, as `head` has, is none."""
    # Where it is closed nobody reads.
    known = sys.stdout or io.TextIOWrapper(io.BytesIO())
    assert isinstance(known, io.TextIOWrapper)
    ours = _StandardOutput(
        known.buffer,
        known.encoding,
        known.errors,
        line_buffering=known.line_buffering,
        write_through=known.write_through,
    )
    sys.stdout = ours
    try:
        try:
            yield
        finally:
            ours.flush()
    except OSError as error:
        if error.filename != STANDARD_OUTPUT:
            raise
        # What is left in it would be tried once more at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno == errno.EPIPE:
            sys.exit(1)
        raise ResultsError("writing to", STANDARD_OUTPUT, error.strerror or str(error), remedy(error)) from error
    finally:
        sys.stdout = known
        ours.detach()
