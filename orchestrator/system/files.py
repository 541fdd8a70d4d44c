"""Output for the user: files, each written whole or not at all, and standard output; one error sentence if writing fails.

A file is written next to its place and renamed, so that no reader sees half of it. The target of a link, anything but a plain file
(/dev/stdout, a pipe), and a file in a folder of another owner are written in place.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longhaul.orchestrator.system.errors import PlanError, ResultsError, remedy

_ATTEMPT, _ELSEWHERE = "writing", "name another file"
_ELSEWHERE_FOLDER = "choose another folder with -o"
STANDARD_OUTPUT = "standard output"


def file_sha256(file: Path) -> str:
    """The SHA-256 of a file's content, as 64 hexadecimal digits."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def write_whole(output: Path, content: str | bytes) -> None:
    """Write the content of a file."""
    with whole(output) as place:
        place.write_bytes(content.encode() if isinstance(content, str) else content)


@contextmanager
def whole(output: Path) -> Iterator[Path]:
    """The path to write to; the content is at `output` when the context ends without an error."""
    check_places(output)
    try:
        if _is_written_in_place(output):
            yield output
        else:
            with _beside(output) as place:
                yield place
    except OSError as error:
        what, hint = error.strerror or str(error), remedy(error, _ELSEWHERE) or _ELSEWHERE
        raise ResultsError(_ATTEMPT, str(output), what, hint) from error


def _is_written_in_place(output: Path) -> bool:
    """Whether it exists and must be written in place."""
    plain = output.is_file() and not output.is_symlink()
    return os.path.lexists(output) and not (plain and os.access(output.parent, os.W_OK))


@contextmanager
def _beside(output: Path) -> Iterator[Path]:
    place = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        yield place
        if output.exists():
            # Keep its permissions.
            shutil.copymode(output, place)
        place.replace(output)
    finally:
        place.unlink(missing_ok=True)


def check_places(*outputs: Path | None) -> None:
    """PlanError unless these files can be written, checked before hours of work."""
    for output in filter(None, outputs):
        if output.is_dir():
            raise PlanError(_ATTEMPT, str(output), "it is a folder", "name a file")
        if not output.parent.is_dir():
            hint = f"create it first, or {_ELSEWHERE}"
            raise PlanError(_ATTEMPT, str(output), f"there is no folder {output.parent}", hint)
        if not os.access(output if output.exists() else output.parent, os.W_OK):
            raise PlanError(_ATTEMPT, str(output), "you have no permission to write there", _ELSEWHERE)


@contextmanager
def output_folder(folder: Path, attempt: str, subject: str) -> Iterator[None]:
    """Make a folder for files of the user; one error sentence if it or a file in it can't be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        hint = remedy(error, _ELSEWHERE_FOLDER) or _ELSEWHERE_FOLDER
        raise ResultsError(attempt, subject, error.strerror or str(error), hint) from error


class _StandardOutput(io.TextIOWrapper):
    """Standard output, whose errors name it."""

    def write(self, text: str) -> int:
        with _naming_standard_output():
            return super().write(text)

    def flush(self) -> None:
        with _naming_standard_output():
            super().flush()


@contextmanager
def _naming_standard_output() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = STANDARD_OUTPUT
        raise


@contextmanager
def standard_output() -> Iterator[None]:
    """Report failures to print like other errors, except when the reader stops early, as `head` does."""
    # It is None where it is closed.
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
        # Python would try to write the rest once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if error.errno == errno.EPIPE:
            sys.exit(1)
        raise ResultsError("writing to", STANDARD_OUTPUT, error.strerror or str(error), remedy(error)) from error
    finally:
        sys.stdout = known
        ours.detach()
