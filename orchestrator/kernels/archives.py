"""Archives of kernel sources, unpacked into an empty folder without their first folder.

    unpack_archive      one of the user's, by tar
    unpack_checked      one that an admin sent: decompressed in confinement, and every member checked before it is written

A checked archive has files, folders and links within its tree, each once, and nothing else: no absolute name, no `..`, no device, no hard
link, no folder of Git, no file below a link, and no more bytes, members and letters in a name than allowed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from longhaul.orchestrator.kernels.tree_rules import check_size, leaves
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import (
    BackendError,
    BackendUnavailable,
    DiskFull,
    PlanError,
    TooLarge,
    remedy,
    visible,
)
from longhaul.orchestrator.system.process import run_program, streaming
from longhaul.orchestrator.system.settings import Settings

Unpack = Callable[[Path, Path], None]

NO_SPACE = os.strerror(errno.ENOSPC)

_READING = "reading the kernel's sources in"
_NAME_AN_ARCHIVE = "name a tar archive of Linux"
_BLOCK = 512
_CHUNK = 1 << 20
# Of files, folders and links, also of folders that only names of others mention. Linux has 90,000.
_MOST_ENTRIES = 500_000
# Of their names together; those of Linux have 4 MB.
_MOST_NAMES_BYTES = 64 << 20
# With attributes and repeated folders.
_MOST_MEMBERS = 4 * _MOST_ENTRIES
# The longest of Linux has 102 bytes.
_LONGEST_NAME = 1000
_MOST_DIGITS = 15
# Of a long name or of a member's attributes.
_MOST_ATTRIBUTES = 1 << 16
# Zeros after the end; tar pads to 10 KiB.
_MOST_PADDING = 16 << 20
_UNPACK_S = 1800
# How each kind begins, the program that decompresses it, and its package.
_KINDS = (
    (b"\xfd7zXZ\x00", "xz", "xz-utils"),
    (b"\x1f\x8b", "gzip", "gzip"),
    (b"BZh", "bzip2", "bzip2"),
    (b"\x28\xb5\x2f\xfd", "zstd", "zstd"),
)
_DECOMPRESSING = Limits(cpu_s=_UNPACK_S, file_bytes=1 << 20, processes=16, memory_bytes=2 << 30)


def unpack_archive(archive: Path, folder: Path) -> None:
    """Unpack an archive of the user's."""
    words = ["tar", "--extract", "--file", str(archive), "--directory", str(folder), "--strip-components=1"]
    done = run_program(words, environment={"LC_ALL": "C"})
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [f"tar ended with {done.returncode}"]
        raise PlanError(_READING, archive.name, lines[-1].strip(), _NAME_AN_ARCHIVE)


def unpack_checked(archive: Path, folder: Path, name: str, settings: Settings) -> None:
    """Unpack an archive that an admin sent under this name; PlanError names the first member that is refused."""
    try:
        with _opened(archive, name, settings) as (file, ending):
            try:
                _Unpacking(name, folder, settings.kernel_build_mb * 2**20).unpack(file)
                _drain(file, name)
            except EOFError:
                raise _damaged(name, visible(ending()) or "it ends too early") from None
            if problem := ending():
                raise _damaged(name, visible(problem))
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full_disk(_READING, name) from error
        if error.errno == errno.ENAMETOOLONG:
            raise _damaged(name, "a name in it is too long for the disk") from error
        what = error.strerror or str(error)
        raise BackendError(_READING, name, what, remedy(error, "set LONGHAUL_CACHE to another folder")) from error


def full_disk(attempting: str, subject: str) -> DiskFull:
    """The error of a cache without space."""
    hint = remedy(OSError(errno.ENOSPC, NO_SPACE), "set LONGHAUL_CACHE to another folder")
    return DiskFull(attempting, subject, NO_SPACE, hint)


@contextlib.contextmanager
def _opened(archive: Path, name: str, settings: Settings) -> Iterator[tuple[IO[bytes], Callable[[], str]]]:
    """The decompressed archive as it comes, and a function that returns why the program that decompresses it failed, or ""."""
    with archive.open("rb") as file:
        beginning = file.read(_BLOCK)
    kind = next((kind for kind in _KINDS if beginning.startswith(kind[0])), None)
    if kind is None and (len(beginning) < _BLOCK or beginning[257:262] != b"ustar"):
        raise _damaged(name, "it is no tar archive, plain or compressed by xz, gzip, bzip2 or zstd")
    with archive.open("rb") as file:
        if kind is None:
            yield file, lambda: ""
            return
        program = Path("/usr/bin", kind[1])
        if not program.is_file():
            raise BackendUnavailable("archives of kernels", [(kind[1], f"run `apt-get install {kind[2]}`")])
        # From its standard input: the file may be readable by this user alone.
        command = confined([str(program), "-dc"], View(), _DECOMPRESSING, settings)
        with streaming(command, file) as (output, ending):
            yield output, ending


class _Unpacking:
    """One archive being unpacked."""

    def __init__(self, name: str, folder: Path, most_bytes: int) -> None:
        self._name, self._folder, self._most_bytes = name, folder, most_bytes
        self._until_s = time.monotonic() + _UNPACK_S
        self._bytes = self._members = self._entries = self._names_bytes = 0
        self._folders: set[str] = {""}
        # Files and links: nothing may be below them, and none may come twice.
        self._others: set[str] = set()

    def unpack(self, file: IO[bytes]) -> None:
        """Write every member."""
        long: dict[str, str] = {}
        while (member := self._next(file)) is not None:
            self._count(member)
            if member.type in (tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK):
                long |= self._attributes(file, member)
                continue
            if member.type == tarfile.XGLTYPE:
                # Of `git archive`: the commit.
                self._attributes(file, member)
                continue
            name, target = long.get("path", member.name), long.get("linkpath", member.linkname)
            if "size" in long:
                member.size = _number(long["size"])
                self._count(member)
            long = {}
            path = self._path(name)
            if member.type in (tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.CONTTYPE):
                self._write_file(file, member, path)
            elif member.type == tarfile.DIRTYPE:
                self._make_folder(path)
            elif member.type == tarfile.SYMTYPE:
                self._make_link(path, target)
            else:
                kind = "a hard link" if member.type == tarfile.LNKTYPE else "neither a file, a folder nor a link"
                raise self._refused(name, f"is {kind}")
        if not self._others:
            raise _damaged(self._name, "it has no files")

    def _next(self, file: IO[bytes]) -> tarfile.TarInfo | None:
        if time.monotonic() > self._until_s:
            raise TooLarge(_READING, self._name, f"it was not unpacked after {_UNPACK_S} s", "send a smaller archive")
        block = file.read(_BLOCK)
        if len(block) < _BLOCK:
            raise EOFError
        if not block.strip(b"\0"):
            return None
        try:
            return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
        except tarfile.HeaderError as error:
            raise _damaged(self._name, f"it is damaged: {error}") from error

    def _count(self, member: tarfile.TarInfo) -> None:
        self._members += 1
        self._bytes += max(member.size, 0)
        if member.size < 0:
            raise _damaged(self._name, "it is damaged: a member has no size")
        if self._members > _MOST_MEMBERS:
            raise TooLarge(_READING, self._name, f"it has more than {_MOST_MEMBERS} members", "send Linux alone")
        if self._bytes > self._most_bytes:
            what = f"unpacked it has more than {self._most_bytes // 2**20} MiB (LONGHAUL_KERNEL_BUILD_MB)"
            raise TooLarge(_READING, self._name, what, "send Linux alone")

    def _count_entry(self, path: str) -> None:
        """Count a file, a folder or a link before it is made: one short name can mention hundreds of folders."""
        self._entries += 1
        self._names_bytes += len(path)
        if self._entries > _MOST_ENTRIES or self._names_bytes > _MOST_NAMES_BYTES:
            what = f"its names have more than {_MOST_NAMES_BYTES // 2**20} MiB"
            if self._entries > _MOST_ENTRIES:
                what = f"it has more than {_MOST_ENTRIES} files, folders and links"
            raise TooLarge(_READING, self._name, what, "send Linux alone")

    def _attributes(self, file: IO[bytes], member: tarfile.TarInfo) -> dict[str, str]:
        """The long name, target and size that the next member has."""
        if member.size > _MOST_ATTRIBUTES:
            raise _damaged(self._name, "it is damaged: a name is too long")
        data = self._read(file, member.size)
        self._read(file, -member.size % _BLOCK)
        if member.type == tarfile.GNUTYPE_LONGNAME:
            return {"path": os.fsdecode(data.rstrip(b"\0"))}
        if member.type == tarfile.GNUTYPE_LONGLINK:
            return {"linkpath": os.fsdecode(data.rstrip(b"\0"))}
        found = {}
        while data.strip(b"\0"):
            digits, _, _ = data.partition(b" ")
            length = _number(os.fsdecode(digits[: _MOST_DIGITS + 1]))
            if not len(digits) + 2 < length <= len(data):
                raise _damaged(self._name, "it is damaged: attributes of a member cannot be read")
            key, _, value = data[len(digits) + 1 : length - 1].partition(b"=")
            found[os.fsdecode(key)] = os.fsdecode(value)
            data = data[length:]
        if any(key.startswith("GNU.sparse") for key in found):
            raise _damaged(self._name, "it has sparse files")
        return {key: found[key] for key in ("path", "linkpath", "size") if key in found}

    def _path(self, name: str) -> str:
        """The member's path below the first folder; empty for that folder."""
        if len(os.fsencode(name)) > _LONGEST_NAME:
            raise self._refused(name, f"has a name of more than {_LONGEST_NAME} bytes")
        parts = [part for part in name.split("/") if part]
        if name.startswith("/"):
            raise self._refused(name, "has an absolute name")
        if ".." in parts:
            raise self._refused(name, "leads out of the tree")
        if "\0" in name or any(part.lower() == ".git" for part in parts):
            raise self._refused(name, "is no file of a source")
        path = "/".join(part for part in parts[1:] if part != ".")
        above = path
        while above:
            above = above.rpartition("/")[0]
            if above in self._others:
                raise self._refused(name, "is below a file or a link")
        if path in self._others:
            raise self._refused(name, "is in it twice")
        return path

    def _write_file(self, file: IO[bytes], member: tarfile.TarInfo, path: str) -> None:
        if not path or path in self._folders:
            raise self._refused(path, "is no folder, although others are below it")
        check_size(path, member.size, _READING, self._name)
        self._count_entry(path)
        self._make_folder(path.rpartition("/")[0])
        self._others.add(path)
        mode = 0o755 if member.mode & 0o100 else 0o644
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with open(os.open(self._folder / path, flags, mode), "wb") as target:
            left = member.size
            while left:
                target.write(piece := self._read(file, min(left, _CHUNK)))
                left -= len(piece)
        self._read(file, -member.size % _BLOCK)

    def _make_folder(self, path: str) -> None:
        missing = []
        while path not in self._folders:
            missing.append(path)
            path = path.rpartition("/")[0]
        for one in reversed(missing):
            self._count_entry(one)
            self._folders.add(one)
            (self._folder / one).mkdir()

    def _make_link(self, path: str, target: str) -> None:
        if not path or path in self._folders:
            raise self._refused(path, "is a link, although others are below it")
        if not target or "\0" in target or len(os.fsencode(target)) > _LONGEST_NAME or leaves(path, target):
            raise self._refused(path, f"leads to {target[:200]}, outside the tree")
        self._count_entry(path)
        self._make_folder(path.rpartition("/")[0])
        self._others.add(path)
        (self._folder / path).symlink_to(target)

    def _read(self, file: IO[bytes], count: int) -> bytes:
        data = file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def _refused(self, member: str, what: str) -> PlanError:
        sentence = visible(f"{member[:200]} {what}".encode(errors="replace").decode())
        return PlanError(_READING, self._name, sentence, "send an archive of files, folders and links within its tree")


def _drain(file: IO[bytes], name: str) -> None:
    """Read to the end, so that the program that writes it can end."""
    left = _MOST_PADDING
    while piece := file.read(_CHUNK):
        left -= len(piece)
        if left < 0:
            raise _damaged(name, "more follows after its end")


def _number(written: str) -> int:
    """A size as attributes have it; -1 for one that is none."""
    return int(written) if written.isascii() and written.isdigit() and len(written) <= _MOST_DIGITS else -1


def _damaged(name: str, what: str) -> PlanError:
    return PlanError(_READING, name, what, _NAME_AN_ARCHIVE)
