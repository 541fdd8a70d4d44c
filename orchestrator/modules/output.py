"""Reads the output of a source's build, an archive of objects, messages and the modules' parts. Nothing is unpacked, and any byte of it may be hostile:
a Makefile's programs can write whatever they like to it.

    objects/tcp_mine.ko    logs/tcp_mine    parts/tcp_mine: the sources of the module, a line each, as folder/stem
"""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Mapping

from longhaul.orchestrator.modules.diagnosis import NO_LICENSE
from longhaul.orchestrator.modules.objects import controls_in, has_license, module_name
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.process import printable

_MOST_MODULES = 64
# A module of its kind has 5 to 40 KB.
_MOST_OBJECT_BYTES = 2**22
_MOST_LOG_BYTES = 2**18
_MOST_PARTS_BYTES = 2**14
# Of other files in the archive nothing is kept.
_MOST_MEMBERS = 2_000
_NAME = re.compile(r"[A-Za-z0-9_][\w.+-]{0,79}", re.ASCII)
_PART = re.compile(r"(?:[A-Za-z0-9_][\w.-]{0,63}/){0,20}[A-Za-z0-9_][\w.-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class MadeObject:
    """An object: its content, the controls that it registers, and why no kernel would load it."""

    content: bytes
    controls: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True, slots=True)
class Output:
    """Objects, messages and the sources of each module, by the module's name in the kernel."""

    objects: Mapping[str, MadeObject]
    logs: Mapping[str, str]
    parts: Mapping[str, list[str]]


def read_output(archive: bytes, subject: str) -> Output:
    """The output in an archive; PlanError if it is none, or has more than a source may have."""
    try:
        return _read(archive)
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:
        raise PlanError(
            "building the module", subject, f"the output of its build cannot be used: {error}", "repair its Makefile"
        ) from error


def _read(archive: bytes) -> Output:
    objects: dict[str, MadeObject] = {}
    logs: dict[str, str] = {}
    parts: dict[str, list[str]] = {}
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as members:
        for count, member in enumerate(members):
            folder, _, name = member.name.partition("/")
            if count > _MOST_MEMBERS or max(len(objects), len(logs), len(parts)) > _MOST_MODULES + 2:
                raise ValueError(f"it has more than {_MOST_MODULES} modules")
            # A sparse file would be larger here than the archive.
            plain = member.type == tarfile.REGTYPE and not member.issparse() and _NAME.fullmatch(name)
            if not plain or (content := members.extractfile(member)) is None:
                continue
            if folder == "objects" and name.endswith(".ko"):
                called, made = _object(name.removesuffix(".ko"), content.read(_MOST_OBJECT_BYTES + 1))
                objects.setdefault(called, made)
            elif folder == "logs":
                logs[name] = printable(content.read(_MOST_LOG_BYTES))
            elif folder == "parts":
                text = content.read(_MOST_PARTS_BYTES).decode(errors="replace")
                parts[name] = [part for part in text.split() if _PART.fullmatch(part)]
    return Output(objects, logs, parts)


def _object(file: str, content: bytes) -> tuple[str, MadeObject]:
    """The name of an object inside, which the kernel knows it by, and what it is; that of its file if it cannot be read."""
    try:
        if len(content) > _MOST_OBJECT_BYTES:
            raise ValueError(f"an object of at most {_MOST_OBJECT_BYTES // 2**20} MiB")
        name = module_name(content)
        if not _NAME.fullmatch(name):
            raise ValueError(f"a name of a module; {name[:80]!r} is none")
        controls = tuple(controls_in(content))
        # Linux before 5.12 builds a module without a license, and does not load it.
        return name, MadeObject(content, controls, "" if has_license(content) else NO_LICENSE)
    except ValueError as error:
        return file, MadeObject(b"", (), f"its object is of no use, needed: {error}")
