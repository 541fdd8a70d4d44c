"""Kernels that admins send to the service: their archives, their parts, and the state of their builds.

    POST an archive  -->  unpacked and checked (archives.py), kept as a tree of sources under its SHA-256
    POST a kernel    -->  a name (named_kernels.py) and a record  -->  kernel_builder.py  -->  built (confined_builds.py), or failed

    <cache>/kernels/sent/<name>.json     the record of a name's build: status, step, error

A record that is `building` while no process holds the lock of the build was left by a process that was killed; its build begins again. A
build that fails leaves its record and nothing else.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

from longhaul.orchestrator.kernels import build_trees, confined_builds, named_kernels
from longhaul.orchestrator.kernels.archives import full_disk, unpack_checked
from longhaul.orchestrator.kernels.named_kernels import NamedKernel, Source
from longhaul.orchestrator.kernels.source_trees import SourceTrees
from longhaul.orchestrator.system.errors import (
    BackendError,
    Conflict,
    ErrorParts,
    LonghaulError,
    NotAllowed,
    NotFound,
    OverLimit,
    PlanError,
    remedy,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.untrusted_folder import discard

Status = Literal["queued", "building", "done", "failed"]

_ADDING, _READING = "adding the kernel", "reading the kernel's sources in"
_MOST_ATTEMPTS = 3
# For all patches of a kernel; 500 take three minutes.
_APPLY_S = 900
# What a short patch could make large: Git expands a binary one, and writes each copy whole.
_BINARY = re.compile(r"^(GIT binary patch|Binary files .* differ)$", re.MULTILINE)
_COPY = re.compile(r"^copy (from|to) ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SentBuild:
    """The build of a sent kernel: its state, and what the kernel consists of, which remains readable when it failed."""

    id: str
    name: str
    by: str
    status: Status
    created_at: str
    parts: dict[str, Any]
    started_at: str | None = None
    ended_at: str | None = None
    step: str = ""
    attempts: int = 0
    error: ErrorParts | None = None


class Withdrawn(Exception):
    """The kernel was deleted while it was built."""


def require_user_code(settings: Settings, subject: str) -> None:
    """NotAllowed unless the operator allows code of admins."""
    if not settings.user_code:
        what = "this service takes no user-supplied code"
        raise NotAllowed(_ADDING, subject, what, "its operator may allow it with LONGHAUL_USER_CODE=on")


def keep_archive(settings: Settings, file: Path, name: str, sha256: str = "") -> tuple[str, str]:
    """(the SHA-256 of an archive, the release of Linux in it): unpacked, checked and kept as a tree of sources."""

    def unpack(archive: Path, folder: Path) -> None:
        unpack_checked(archive, folder, name, settings)

    trees = SourceTrees(settings.cache)
    tree, found = trees.read_archive(file, sha256, unpack)
    trees.check_entries(tree, _READING, name, settings.kernel_build_mb * 2**20)
    return found, trees.release(tree)


@contextlib.contextmanager
def receiving(settings: Settings, name: str) -> Iterator[tuple[IO[bytes], Path]]:
    """A file for an archive that is being sent, and its path; it ends with the context."""
    confined_builds.require_space(settings, "receiving the archive", name)
    folder = settings.cache / "kernels" / "sent" / ".archives"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for left in folder.iterdir():
            # The name begins with the number of its process.
            if not Path("/proc", left.name.partition("-")[0]).is_dir():
                left.unlink(missing_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=f"{os.getpid()}-") as file:
            yield file.file, Path(file.name)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_disk("receiving the archive", name) from error
        hint = remedy(error, "set LONGHAUL_CACHE to another folder")
        raise BackendError("receiving the archive", name, error.strerror or str(error), hint) from error


def submit(
    settings: Settings,
    name: str,
    source: Source,
    patches: Sequence[tuple[str, str]],
    config: Sequence[str],
    by: str,
    taken: Sequence[str],
) -> SentBuild:
    """Apply the patches, and queue the build of a kernel: a version or an archive that was sent, and patches as (name, text)."""
    folder = _records(settings)
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / ".lock"):
        _check_free(settings, name, taken)
        confined_builds.require_space(settings, _ADDING, name)
        _forget(settings, name)
        with tempfile.TemporaryDirectory(prefix="longhaul-") as place:
            files = [_written(Path(place), number, *patch) for number, patch in enumerate(patches)]
            try:
                left_s = _watch(settings, name)
                kernel = named_kernels.add(settings, name, source, files, config, taken=taken, sent=True, left_s=left_s)
                # So that a conflict with the sandbox's patches is reported now.
                build_trees.apply_ours(SourceTrees(settings.cache), kernel)
                made = SentBuild(secrets.token_hex(8), name, by, "queued", _now(), kernel.content())
                _write(settings, made)
            except BaseException:
                _forget(settings, name)
                raise
    return made


def remove(settings: Settings, name: str, taken: Sequence[str]) -> None:
    """Forget a sent kernel; a build of it ends. NotFound, or Conflict for one that was not sent."""
    attempting = "deleting the kernel"
    if name in taken:
        raise Conflict(attempting, name, "it is a version of kernel.lock", "only kernels with a name can be deleted")
    known = name in named_kernels.names(settings)
    if known and not named_kernels.find(settings, name).sent:
        hint = f"run `longhaul kernel remove {name}` there"
        raise Conflict(attempting, name, "it was added on the machine of the service", hint)
    if not known and not _file(settings, name).exists():
        named_kernels.find(settings, name)
    _records(settings).mkdir(parents=True, exist_ok=True)
    # No kernel with this name is sent before all of the former one is gone.
    with locked(_records(settings) / ".lock"):
        with _changing(settings):
            _file(settings, name).unlink(missing_ok=True)
        # Waits for the build, which has noticed.
        _forget(settings, name)


def remove_any(settings: Settings, name: str) -> None:
    """Forget a kernel of this cache, whether it was sent or added on this machine."""
    if name in named_kernels.names(settings) and not named_kernels.find(settings, name).sent:
        build_trees.remove(settings, name)
    else:
        remove(settings, name, ())


def read(settings: Settings, name: str) -> SentBuild | None:
    """The build of a sent kernel; None if there is no record of one, or a damaged one, as a machine that lost its power leaves."""
    try:
        return SentBuild(**json.loads(_file(settings, name).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    except OSError as error:
        what, hint = error.strerror or str(error), remedy(error, "set LONGHAUL_CACHE to another folder")
        raise BackendError("reading the build of the kernel", name, what, hint) from error


def builds(settings: Settings) -> list[SentBuild]:
    """The builds of all sent kernels, the oldest first."""
    found = (read(settings, file.stem) for file in _records(settings).glob("[!.]*.json"))
    return sorted((one for one in found if one), key=lambda one: one.created_at)


def waiting(settings: Settings) -> list[SentBuild]:
    """The builds that are not finished, the oldest first."""
    return [one for one in builds(settings) if one.status in ("queued", "building")]


def build_next(settings: Settings) -> bool:
    """Build the oldest waiting kernel, to its end; False if none waits, or others build all of them."""
    _clear(settings)
    for record in waiting(settings):
        lock = _records(settings) / f".build-{record.name}.lock"
        with contextlib.suppress(BlockingIOError), locked(lock, wait=False):
            found = read(settings, record.name)
            if found is None or found.id != record.id or found.status not in ("queued", "building"):
                continue
            _build(settings, found)
            return True
    return False


def _build(settings: Settings, record: SentBuild) -> None:
    if record.attempts >= _MOST_ATTEMPTS:
        what = f"its build was killed {_MOST_ATTEMPTS} times"
        hint = "see the memory of the machine, and send the kernel again"
        _fail(settings, record, BackendError("building the sandbox kernel", record.name, what, hint))
        return
    record = replace(record, status="building", started_at=_now(), attempts=record.attempts + 1)
    _update(settings, record)

    def on_step(step: str) -> None:
        nonlocal record
        record = replace(record, step=step)
        if not _update(settings, record):
            raise Withdrawn

    try:
        confined_builds.build(settings, record.name, on_step)
        parts = named_kernels.find(settings, record.name).content()
        _update(settings, replace(record, status="done", ended_at=_now(), step="", parts=parts))
    except Withdrawn:
        return
    except LonghaulError as error:
        _fail(settings, record, error)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            _fail(settings, record, full_disk("building the sandbox kernel", record.name))
            return
        what, hint = error.strerror or str(error), remedy(error, "set LONGHAUL_CACHE to another folder")
        _fail(settings, record, BackendError("building the sandbox kernel", record.name, what, hint))
    except (KeyboardInterrupt, SystemExit):
        # The service stops: it builds the kernel when it is there again.
        _update(settings, replace(record, status="queued", step="", attempts=record.attempts - 1))
        raise


def _fail(settings: Settings, record: SentBuild, error: LonghaulError) -> None:
    now = read(settings, record.name)
    if now is not None and now.id == record.id:
        _forget(settings, record.name)
        _update(settings, replace(record, status="failed", ended_at=_now(), step="", error=error.as_dict()))


def _watch(settings: Settings, name: str) -> Callable[[], float]:
    """A function that returns the time left for the patches of a kernel; DiskFull when they have taken too much of the disk."""
    until_s = time.monotonic() + _APPLY_S

    def left_s() -> float:
        confined_builds.require_space(settings, _ADDING, name)
        return max(until_s - time.monotonic(), 0)

    return left_s


def _check_free(settings: Settings, name: str, taken: Sequence[str]) -> None:
    record = read(settings, name)
    known = name in named_kernels.names(settings)
    # Its build failed, or the kernel was removed on the command line of the machine.
    ended = record is not None and record.status in ("failed", "done") and not known
    if name in taken or (known and _is_finished_or_local(settings, name, record)) or (record and not ended):
        raise Conflict(
            _ADDING, name, "there is a kernel with this name", "choose another name, or delete that one first"
        )
    others = [one for one in builds(settings) if one.name != name]
    if len(others) >= settings.most_kernels:
        what = f"{len(others)} kernels were sent, and {settings.most_kernels} are allowed (LONGHAUL_MOST_KERNELS)"
        raise OverLimit(_ADDING, name, what, "delete one first")


def _is_finished_or_local(settings: Settings, name: str, record: SentBuild | None) -> bool:
    """Whether a name is more than the rest of a submission that was killed."""
    kernel = named_kernels.find(settings, name)
    return record is not None or not kernel.sent or bool(kernel.hash)


def _forget(settings: Settings, name: str) -> None:
    # A builder and a request may forget the same kernel at once.
    with contextlib.suppress(NotFound):
        if named_kernels.find(settings, name).sent:
            build_trees.remove(settings, name)


def _clear(settings: Settings) -> None:
    """Delete the trees of builds that were killed and are not continued, and names whose submission was killed."""
    names = {one.name for one in waiting(settings)}
    for work in [*confined_builds.work_folder(settings).glob("*")]:
        if work.name not in names:
            with contextlib.suppress(BlockingIOError), build_trees.held(settings, work.name, wait=False):
                discard(work)
    with contextlib.suppress(BlockingIOError), locked(_records(settings) / ".lock", wait=False):
        for name in named_kernels.names(settings):
            # The command line may remove it meanwhile.
            with contextlib.suppress(NotFound):
                kernel: NamedKernel = named_kernels.find(settings, name)
                if kernel.sent and not kernel.hash and read(settings, name) is None:
                    build_trees.remove(settings, name)


def _written(place: Path, number: int, name: str, text: str) -> Path:
    """A patch as a file."""
    if _BINARY.search(text):
        raise PlanError("applying the patch", name, "it changes binary files", "send an archive with them instead")
    if _COPY.search(text):
        raise PlanError("applying the patch", name, "it copies files", "make it with `git format-patch --no-renames`")
    file = place / f"{number}" / name
    file.parent.mkdir()
    file.write_text(text, newline="")
    return file


def _records(settings: Settings) -> Path:
    return settings.cache / "kernels" / "sent"


def _file(settings: Settings, name: str) -> Path:
    return _records(settings) / f"{name}.json"


def _update(settings: Settings, record: SentBuild) -> bool:
    """Replace a record, unless its kernel was deleted meanwhile."""
    with _changing(settings):
        now = read(settings, record.name)
        if now is None or now.id != record.id:
            return False
        if now != record:
            _write(settings, record)
    return True


def _changing(settings: Settings) -> AbstractContextManager[None]:
    """The lock of all records; held for a moment."""
    _records(settings).mkdir(parents=True, exist_ok=True)
    return locked(_records(settings) / ".records.lock")


def _write(settings: Settings, record: SentBuild) -> None:
    file = _file(settings, record.name)
    new = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        new.write_text(json.dumps(asdict(record)) + "\n")
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
