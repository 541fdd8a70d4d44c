"""Recordings that are kept, each under the hash of its content, and those that are being received.

    $LONGHAUL_CACHE/recordings/<sha256>/<name>        which `recording: {file: "sha256:..."}` of an experiment names
    $LONGHAUL_CACHE/recordings/.new-<random>/<name>   one that is read before it is kept; it is removed if it is refused

A recording is read as a whole before it is kept: PlanError names the line and the column of a malformed one.
"""

from __future__ import annotations

import contextlib
import errno
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from longhaul.orchestrator.plan.placed.recorded_table import FOLDER
from longhaul.orchestrator.recorded_links.chunks import NS_PER_S
from longhaul.orchestrator.recorded_links.description import describe, numbers_of
from longhaul.orchestrator.recorded_links.formats import COLUMNS, TABLE, format_of
from longhaul.orchestrator.recorded_links.generators import GENERATORS, generate
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.spec.recordings import is_imported, recording_file
from longhaul.orchestrator.system.errors import DiskFull, NotFound, OverLimit, PlanError, ResultsError, remedy
from longhaul.orchestrator.system.files import file_sha256
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.units import parse_duration

_KEEPING, _READING, _RECEIVING = "importing the recording", "reading the recording", "receiving the recording"
_HASH = re.compile("[0-9a-f]{64}")
_NEW = ".new-"
# A recording that was received for longer than this was left by a process that was killed.
_LEFT_AFTER_S = 3600
# Of a model's recording, what is made to show it.
_SHOWN_S = 300


@dataclass(frozen=True, slots=True)
class KeptRecording:
    """A recording that is kept; its numbers only when it has just been read."""

    reference: str
    name: str
    bytes: int
    kept_at: datetime
    numbers: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Its fields as plain data, the numbers among them."""
        fields = asdict(self)
        numbers = fields.pop("numbers")
        return {**fields, "kept_at": self.kept_at.isoformat(), **numbers}


def duration_ns(text: str, option: str) -> int:
    """Nanoseconds of a time as people write it; PlanError."""
    try:
        return parse_duration(text) * 1000
    except ValueError as error:
        raise PlanError("reading", option, f"{text!r} is not a time: {error}", "for example 100ms or 60s") from None


def open_file(
    settings: Settings, file: str, kind: str | None, columns: Mapping[str, str] | None, step_ns: int | None
) -> RecordedFile:
    """The recording of a file, or of the reference of a kept one; PlanError if there is none."""
    try:
        path = recording_file(file, settings.cache)
    except ValueError as error:
        raise PlanError(_READING, file, str(error)) from None
    if not path.is_file():
        what = "it is not a file" if path.exists() else "there is no such file"
        raise PlanError(_READING, file, what, "name a file, or sha256: and the hash of an imported recording")
    kind = kind or format_of(path)
    if kind != TABLE and (columns or step_ns is not None):
        raise PlanError(
            _READING, file, f"its format is {kind}, and only tables have columns and a step", "name a table"
        )
    if unknown := next((name for name in columns or () if name not in COLUMNS), None):
        raise PlanError(_READING, file, f"{unknown!r} is no kind of column", f"allowed: {', '.join(COLUMNS)}")
    return RecordedFile(path, kind, columns or {}, step_ns)


# ---- kept recordings


def kept_recordings(settings: Settings) -> list[KeptRecording]:
    """All of them, in the order of their names."""
    folders = [one for one in (settings.cache / FOLDER).glob("*") if _HASH.fullmatch(one.name)]
    found = []
    for folder in folders:
        # Another process may remove it meanwhile.
        with contextlib.suppress(ValueError, FileNotFoundError):
            found.append(_kept(settings, f"sha256:{folder.name}"))
    return sorted(found, key=lambda one: (one.name, one.reference))


def kept_recording(settings: Settings, reference: str) -> KeptRecording:
    """One of them; NotFound, also for anything but a reference."""
    try:
        if is_imported(reference):
            return _kept(settings, reference)
        what = "it is not sha256: and 64 hexadecimal digits"
    except (ValueError, FileNotFoundError):
        what = "no recording with this hash is kept here"
    raise NotFound("looking for the recording", reference, what, "see `longhaul recordings list`")


def keep_copy(settings: Settings, recorded: RecordedFile) -> KeptRecording:
    """Keep a copy of a file."""
    numbers, sha256 = numbers_of(recorded), file_sha256(recorded.path)
    folder = settings.cache / FOLDER / sha256
    if not any(folder.glob("*")):
        name = recorded.path.name
        with _new_folder(settings, _KEEPING, str(recorded.path)) as new:
            shutil.copyfile(recorded.path, new / name)
            if file_sha256(new / name) != sha256:
                raise PlanError(_KEEPING, str(recorded.path), "it changed meanwhile", "import it when it is complete")
            _publish(new, folder)
    return _kept(settings, f"sha256:{sha256}", numbers)


@contextlib.contextmanager
def receiving(settings: Settings, name: str) -> Iterator[tuple[IO[bytes], Path]]:
    """A file with this name for a recording that is being sent, and its path; unless it is kept, it ends with the context."""
    folder = settings.cache / FOLDER
    for left in folder.glob(f"{_NEW}*"):
        with contextlib.suppress(OSError):
            if max(one.stat().st_mtime for one in (left, *left.iterdir())) < time.time() - _LEFT_AFTER_S:
                shutil.rmtree(left, ignore_errors=True)
    kept_mb = sum(one.bytes for one in kept_recordings(settings)) >> 20
    if kept_mb >= settings.recordings_mb:
        what = (
            f"{kept_mb} MiB of recordings are kept, and {settings.recordings_mb} are allowed (LONGHAUL_RECORDINGS_MB)"
        )
        raise OverLimit(_RECEIVING, name, what, "delete one first")
    with _new_folder(settings, _RECEIVING, name) as new, (new / name).open("wb") as file:
        yield file, new / name


def keep_received(
    settings: Settings, path: Path, kind: str | None, columns: Mapping[str, str] | None, step_ns: int | None
) -> KeptRecording:
    """Keep a recording that was received; PlanError names it, not its place."""
    if path.suffix == ".parquet":
        what = "a service reads no Parquet: how much is in such a file shows only when it is read"
        raise PlanError(_RECEIVING, path.name, what, "send the table as CSV; `longhaul run --server` does so")
    with _named(path.name):
        recorded = open_file(settings, str(path), kind, columns, step_ns)
        numbers = numbers_of(recorded)
    sha256 = file_sha256(path)
    folder = settings.cache / FOLDER / sha256
    if not any(folder.glob("*")):
        _publish(path.parent, folder)
    return _kept(settings, f"sha256:{sha256}", numbers)


def remove(settings: Settings, reference: str) -> None:
    """Remove one; NotFound."""
    kept_recording(settings, reference)
    folder = settings.cache / FOLDER / reference.removeprefix("sha256:")
    gone = folder.with_name(f"{_NEW}{secrets.token_hex(8)}")
    try:
        # No reader sees a folder without its file.
        folder.replace(gone)
        shutil.rmtree(gone)
    except OSError as error:
        hint = remedy(error, "set LONGHAUL_CACHE to another folder")
        raise ResultsError("removing the recording", reference, error.strerror or str(error), hint) from error


# ---- in numbers


def described(
    settings: Settings,
    reference: str,
    kind: str | None,
    columns: Mapping[str, str],
    step_ns: int | None,
    begin_ns: int,
    length_ns: int | None,
) -> dict[str, Any]:
    """A kept recording in numbers, with a part of it; NotFound."""
    kept_recording(settings, reference)
    recorded = open_file(settings, reference, kind, columns, step_ns)
    how = (recorded.path, recorded.format, tuple(sorted(columns.items())), step_ns)
    return _described(*how, begin_ns, length_ns)


@lru_cache(maxsize=64)
def _described(
    path: Path,
    kind: str,
    columns: tuple[tuple[str, str], ...],
    step_ns: int | None,
    begin_ns: int,
    length_ns: int | None,
) -> dict[str, Any]:
    """Content with a hash never changes."""
    with _named(path.name):
        return describe(RecordedFile(path, kind, dict(columns), step_ns), path.name, begin_ns, length_ns)


@lru_cache(maxsize=64)
def described_model(
    settings: Settings, model: str, parameters: tuple[tuple[str, float], ...], length_ns: int, seed: int
) -> dict[str, Any]:
    """The recording of a model in numbers, of its first five minutes if it is longer; nothing is kept."""
    seconds = min(length_ns / NS_PER_S, _SHOWN_S)
    with _new_folder(settings, "showing the model", model) as new:
        file = new / f"{model}.{GENERATORS[model].suffix}"
        with file.open("w") as text:
            text.writelines(generate(model, seconds, seed, dict(parameters)))
        return describe(RecordedFile(file, format_of(file)), file.name)


# ---- places


def _kept(settings: Settings, reference: str, numbers: dict[str, Any] | None = None) -> KeptRecording:
    file = recording_file(reference, settings.cache)
    found = file.stat()
    at = datetime.fromtimestamp(file.parent.stat().st_mtime, UTC)
    return KeptRecording(reference, file.name, found.st_size, at, numbers or {})


@contextlib.contextmanager
def _named(name: str) -> Iterator[None]:
    """Errors within name the recording and not its place."""
    try:
        yield
    except PlanError as error:
        raise PlanError(error.attempting, name, error.what, error.hint) from None


@contextlib.contextmanager
def _new_folder(settings: Settings, attempting: str, subject: str) -> Iterator[Path]:
    """A folder for a recording that is not kept yet; what is left of it ends with the context."""
    new = settings.cache / FOLDER / f"{_NEW}{secrets.token_hex(8)}"
    try:
        new.mkdir(parents=True)
        yield new
    except OSError as error:
        hint = remedy(error, "set LONGHAUL_CACHE to another folder")
        kind = DiskFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else ResultsError
        raise kind(attempting, subject, error.strerror or str(error), hint) from error
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _publish(new: Path, folder: Path) -> None:
    """Give a folder its name; another process may have kept the same content."""
    try:
        new.replace(folder)
    except OSError:
        if not any(folder.glob("*")):
            raise
