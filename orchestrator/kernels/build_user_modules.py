"""Compile user-supplied modules against a guest's kernel, confined.

    $LONGHAUL_CACHE/own/<source>/*.c  -->  kmod/sandbox/build-modules.sh, confined  -->  $LONGHAUL_CACHE/modules/own-<hash>/tcp_<name>.ko

The compiler sees the kernel's tree, the project's headers and the source, and writes to a folder in memory. Its output is an archive,
of which the expected objects are taken, and its messages. It can include no other file of this machine.

An object whose plan has other names for it gets them afterwards (renamed_objects.py), outside the compiler and in a copy.

The source line of a place in an object is found in the same way: the source is compiled again with debugging information, which leaves
the code as it is, and the place is looked up there. Only text comes back.
"""

from __future__ import annotations

import hashlib
import io
import re
import sys
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from longhaul.orchestrator.kernels.built_kernels import is_sent
from longhaul.orchestrator.kernels.renamed_objects import VERSION, renamed
from longhaul.orchestrator.plan.run import Module
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.locks import making
from longhaul.orchestrator.system.process import Answer, run_untrusted
from longhaul.orchestrator.system.settings import Settings

_SCRIPT = "sandbox/build-modules.sh"
_LONGEST_S = 180
_MOST_BYTES = 64 * 2**20
_LIMITS = Limits(cpu_s=120, file_bytes=_MOST_BYTES, processes=64, memory_bytes=2**30)
_SCRATCH_BYTES = 256 * 2**20
# Inside the confinement, where compilers look for it.
_TEMPORARY = "/tmp"  # noqa: S108
_MOST_LINES = 200
_LONGEST_NAME = 128
_LINE = re.compile(r"[\w.-]{1,128}:[0-9]{1,7}")
_BUILD = 'set -o pipefail; folder=$(bash "$1" "$2" "$3" | tail -n 1) && cd "$folder" && exec tar -c -- *.ko'
_PROBE = "lh_trace.ko"
# Kbuild checks the comments of the project's modules by a program in Perl.
PERL = (Path("/usr/share/perl"), Path("/usr/share/perl5"))
_FIND_LINES = "sandbox/find-lines.sh"
_FIND = 'export LONGHAUL_DEBUG_INFO=yes; set -o pipefail; folder=$(bash "$1" "$2" "$3" | tail -n 1) && find=$4 && shift 4 && exec bash "$find" "$folder" "$@"'
_FIND_IN_OBJECTS = 'folder=$3 find=$4; shift 4; exec bash "$find" "$folder" "$@"'


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the code: an offset in bytes from the beginning of a function; without a module, in the kernel itself."""

    module: str
    function: str
    offset: int


def build_objects(settings: Settings, version: str, source: str) -> Path:
    """The folder of a source's objects in the cache for that kernel, compiled if it is missing; PlanError with the compiler's message."""
    folder = settings.cache / "own" / source
    kernel = settings.kernel(version)
    if not (kernel / "manifest.json").is_file():
        what = "that kernel is not built"
        raise BackendError(
            "building the module", f"{source} for {version}", what, f"run `longhaul kernel build {version}`"
        )
    target = settings.cache / "modules" / f"own-{_key(kernel, source)}"
    if target.is_dir():
        return target
    if not has_headers(kernel):
        raise missing_headers("building the module", f"{source} for {version}", version)
    expected = [f"{file.stem}.ko" for file in sorted(folder.glob("tcp_*.c"))]
    subject = f"{', '.join(name.removesuffix('.ko') for name in expected)} for {version}"
    answer = _run(settings, version, folder, kernel.resolve(), _BUILD)
    for line in answer.messages.splitlines()[:_MOST_LINES]:
        print(line, file=sys.stderr)
    if answer.output is None:
        raise PlanError("building the module", subject, first_error(answer), "repair the source")
    with making(target.parent) as new:
        made = new / "objects"
        made.mkdir()
        for name, content in _objects(answer.output, expected, subject):
            (made / name).write_bytes(content)
        # Another process may have been quicker with the same source.
        if not target.is_dir():
            made.rename(target)
    return target


def build_confined_modules(settings: Settings, version: str) -> Path:
    """The folder of the project's modules for a kernel that an admin sent: its headers contain programs, so even these are compiled confined."""
    kernel = settings.kernel(version).resolve()
    sources = [file for file in sorted(KMOD.glob("*.[ch]")) if not file.name.endswith(".mod.c")]
    digest = hashlib.sha256()
    for file in (kernel / "manifest.json", KMOD / _SCRIPT, KMOD / "Kbuild", *sources):
        digest.update(file.read_bytes())
    target = settings.cache / "modules" / f"sent-{digest.hexdigest()[:32]}"
    if target.is_dir():
        return target
    attempting = "building the kernel modules for"
    if not has_headers(kernel):
        raise missing_headers(attempting, version, version)
    answer = _run(settings, version, None, kernel, _BUILD)
    if answer.output is None:
        raise PlanError(attempting, version, first_error(answer), "the project's modules must compile for it")
    expected = [f"{file.stem}.ko" for file in sources if file.suffix == ".c"]
    with making(target.parent) as new:
        made = new / "objects"
        made.mkdir()
        for name, content in _objects(answer.output, expected, version, needed=(_PROBE,)):
            (made / name).write_bytes(content)
        # Another process may have been quicker with the same kernel.
        if not target.is_dir():
            made.rename(target)
    return target


def rename_object(settings: Settings, built: Path, plan: Module) -> Path:
    """A copy of a built module with the names of its plan, in the cache; PlanError if it has not one control to rename."""
    content = built.read_bytes()
    names = f"{VERSION} {plan.file} {plan.name} {plan.registers} {plan.replaces}\n"
    target = settings.cache / "modules" / f"own-{hashlib.sha256(names.encode() + content).hexdigest()[:32]}"
    if not target.is_dir():
        try:
            # A control that gets a name of its own may have any in the source; one that replaces cubic is called cubic there.
            written = plan.file.removeprefix("tcp_")
            made = renamed(content, written, plan.name, plan.registers, beside=not plan.replaces)
        except ValueError as error:
            subject = f"{plan.file} as {plan.replaces or plan.registers}"
            raise PlanError("naming the module", subject, f"needed: {error}", "change its source") from None
        with making(target.parent) as new:
            folder = new / "objects"
            folder.mkdir()
            (folder / f"{plan.name}.ko").write_bytes(made)
            # Another process may have been quicker with the same object.
            if not target.is_dir():
                folder.rename(target)
    return target / f"{plan.name}.ko"


def has_headers(kernel: Path) -> bool:
    """Whether modules can be built against that kernel: the release's comes without."""
    return (kernel / "tree").is_dir()


def missing_headers(attempting: str, subject: str, version: str) -> BackendError:
    """The error of building a module for the release's kernel."""
    what = "the release's kernel comes without headers"
    return BackendError(attempting, subject, what, f"run `longhaul kernel build {version} --from source`")


def find_lines(
    settings: Settings, version: str, source: str, places: Sequence[Place]
) -> dict[Place, list[tuple[str, str]]]:
    """(function, file:line) of each place in the objects of a source, with the innermost inlined function first."""
    folder = settings.cache / "own" / source
    supplied = any(folder.glob("*.ko"))
    arguments = [word for place in places for word in (place.module, place.function, str(place.offset))]
    shell = _FIND_IN_OBJECTS if supplied else _FIND
    answer = _run(settings, version, folder, settings.kernel(version).resolve(), shell, [_FIND_LINES, *arguments])
    found = (answer.output or b"").decode(errors="replace").split("\n\n")
    lines = {place: [*_pairs(text.split())] for place, text in zip(places, found, strict=False)}
    return {place: pairs for place, pairs in lines.items() if pairs}


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(function, file:line) from the output of addr2line, which prints "??" and "?" for unknown places."""
    for function, line in zip(words[::2], words[1::2], strict=False):
        if not function.startswith("?") and "?" not in line and (match := _LINE.match(line)):
            yield function[:_LONGEST_NAME], match[0]


def _key(kernel: Path, source: str) -> str:
    """A hash of all that the objects depend on."""
    digest = hashlib.sha256(source.encode())
    for file in (kernel / "manifest.json", KMOD / _SCRIPT, KMOD / "Kbuild", *sorted(KMOD.glob("*.h"))):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:32]


def _run(
    settings: Settings, version: str, folder: Path | None, kernel: Path, shell: str, more: Sequence[str] = ()
) -> Answer:
    """The output of a shell with the script, the kernel's version, the source (none: the project's), and maybe another script and its arguments."""

    def words(kmod: str, source: str) -> list[str]:
        script = [f"{kmod}/{more[0]}", *more[1:]] if more else []
        return ["/bin/bash", "-c", shell, "build", f"{kmod}/{_SCRIPT}", version, source, *script]

    if not settings.confinement and not is_sent(kernel):
        return run_untrusted(words(str(KMOD), str(folder or "")), "", longest_s=_LONGEST_S, most_bytes=_MOST_BYTES)
    view = View(
        reads={
            f"/cache/kernels/{kernel.name}": kernel,
            "/kmod": KMOD,
            **({"/source": folder} if folder else {str(place): place for place in PERL if place.is_dir()}),
        },
        links={f"/cache/kernels/current-{version}": kernel.name},
        scratch={"/cache/modules": _SCRATCH_BYTES, _TEMPORARY: _SCRATCH_BYTES},
        environment={"PATH": "/usr/bin:/bin", "LONGHAUL_CACHE": "/cache", "LANG": "C.UTF-8", "HOME": _TEMPORARY},
        folder=_TEMPORARY,
    )
    command = confined(words("/kmod", "/source" if folder else ""), view, _LIMITS, settings)
    return run_untrusted(command, "", longest_s=_LONGEST_S, most_bytes=_MOST_BYTES)


def first_error(answer: Answer) -> str:
    """The compiler's first error, or why it printed none."""
    errors = [line.strip() for line in answer.messages.splitlines() if "error:" in line]
    return errors[0][:300] if errors else answer.problem


def _objects(
    archive: bytes, expected: list[str], subject: str, needed: Sequence[str] | None = None
) -> Iterator[tuple[str, bytes]]:
    """The expected files of an archive, of which all or those of `needed` must be there; nothing is unpacked."""
    wanted = set(expected)
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as members:
            for member in members:
                # A sparse file would be larger here than the archive.
                plain = member.type == tarfile.REGTYPE and not member.issparse()
                if plain and member.name in wanted and (content := members.extractfile(member)):
                    wanted.remove(member.name)
                    yield member.name, content.read(_MOST_BYTES)
    except (tarfile.TarError, EOFError, ValueError) as error:
        raise PlanError("building the module", subject, f"the compiler's output is not an archive: {error}") from error
    if missing := wanted if needed is None else wanted & set(needed):
        raise PlanError("building the module", subject, f"the output has no {min(missing)}", "see the messages above")
