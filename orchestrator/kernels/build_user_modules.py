"""The objects of user-supplied modules for a guest's kernel, as a run loads them; and the source lines of places in them.

An object whose plan has other names for it gets them after it was built (modules/objects.py), outside the compiler and in a copy.

The source line of a place in an object is found by compiling the source again with debugging information, which leaves the code as it is, and
looking the place up there. Only text comes back.
"""

from __future__ import annotations

import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from longhaul.orchestrator.modules.build import Build, BuiltModule, build_source, run_build, source_texts
from longhaul.orchestrator.modules.objects import VERSION, renamed
from longhaul.orchestrator.modules.recipe import Recipe
from longhaul.orchestrator.plan.run import Module
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.locks import making
from longhaul.orchestrator.system.settings import Settings

_MOST_LINES = 200
_LONGEST_NAME = 128
_LINE = re.compile(r"[\w.-]{1,128}:[0-9]{1,7}")
# Arguments: how many belong to find-lines.sh behind the folder, those, then the script that builds with its own; the last one is its folder.
_FIND = 'count=$1; shift; find=("${@:1:count}"); shift "$count"; export LONGHAUL_DEBUG_INFO=yes; bash "$@" && exec bash "${3%/}/sandbox/find-lines.sh" "${!#}/objects" "${find[@]}"'
_FIND_IN_OBJECTS = (
    'count=$1; shift; find=("${@:1:count}"); shift "$count"; exec bash "$3/sandbox/find-lines.sh" "$5" "${find[@]}"'
)


@dataclass(frozen=True, slots=True)
class Place:
    """A place in the code: an offset in bytes from the beginning of a function; without a module, in the kernel itself."""

    module: str
    function: str
    offset: int


def build_modules_of(settings: Settings, version: str, source: str, *, symbols: bool = False) -> Build:
    """The build of a source for that kernel; the compiler's messages of what is not built are printed."""
    build = build_source(settings, version, source, symbols=symbols)
    for module in build.modules:
        _print_messages(build, module)
    return build


def object_of(settings: Settings, version: str, source: str, name: str) -> Path:
    """The object of one module of a source; PlanError with the reason if it is not built."""
    build = build_source(settings, version, source)
    module = next((one for one in build.modules if one.name == name), None)
    subject = f"{name} for {version}"
    if module is None:
        built = ", ".join(one.name for one in build.modules if not one.error) or "none"
        raise PlanError(
            "building the module", subject, f"its source made no such module; made: {built}", "repair the source"
        )
    if module.error:
        _print_messages(build, module)
        raise PlanError("building the module", subject, module.problem, "repair the source")
    return build.object(name)


def _print_messages(build: Build, module: BuiltModule) -> None:
    for line in build.log(module.name).splitlines()[:_MOST_LINES] if module.error else ():
        print(line, file=sys.stderr)


def rename_object(settings: Settings, built: Path, plan: Module) -> Path:
    """A copy of a built module with the names of its plan, in the cache; PlanError if it has not one control to rename."""
    content = built.read_bytes()
    names = f"{VERSION} {plan.file} {plan.name} {plan.registers} {plan.replaces} {plan.control}\n"
    target = settings.cache / "modules" / f"own-{hashlib.sha256(names.encode() + content).hexdigest()[:32]}"
    if not target.is_dir():
        try:
            # A control that gets a name of its own may have any in the source; one that replaces cubic is called cubic there.
            written = plan.control or plan.replaces or plan.file.removeprefix("tcp_")
            made = renamed(content, written, plan.name, plan.registers, beside=not (plan.replaces or plan.control))
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
    kernel = settings.kernel(version).resolve()
    supplied = any(folder.glob("*.ko"))
    arguments = [word for place in places for word in (place.module, place.function, str(place.offset))]
    recipe = Recipe({} if supplied else source_texts(folder))
    answer = run_build(
        settings,
        version,
        folder,
        kernel,
        recipe,
        _FIND_IN_OBJECTS if supplied else _FIND,
        (str(len(arguments)), *arguments),
    )
    found = (answer.output or b"").decode(errors="replace").split("\n\n")
    lines = {place: [*_pairs(text.split())] for place, text in zip(places, found, strict=False)}
    return {place: pairs for place, pairs in lines.items() if pairs}


def _pairs(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(function, file:line) from the output of addr2line, which prints "??" and "?" for unknown places."""
    for function, line in zip(words[::2], words[1::2], strict=False):
        if not function.startswith("?") and "?" not in line and (match := _LINE.match(line)):
            yield function[:_LONGEST_NAME], match[0]
