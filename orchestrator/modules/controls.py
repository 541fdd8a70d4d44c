"""The congestion controls of a source, before an experiment uses them: what its objects for the experiment's kernel register.

    a folder, an archive, a repository      built for that kernel (build.py), and read from the objects
    tcp_mine.ko                             read from the object

Where that kernel is not built, or this machine cannot build confined, the text of the source answers, if it says enough: a Makefile, a
generated header or a name from -D says too little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from longhaul.orchestrator.modules.build import Build, build_source, can_build, source_texts
from longhaul.orchestrator.modules.content import adopt, content_files, content_hash
from longhaul.orchestrator.modules.objects import controls_in, module_name
from longhaul.orchestrator.modules.recipe import Recipe
from longhaul.orchestrator.system.errors import BackendUnavailable
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import load_settings

NEEDED = "a folder whose source calls tcp_register_congestion_control(), an archive or a git repository of it, or a module's object (.ko)"


@dataclass(frozen=True, slots=True)
class FoundControl:
    """A control: the name that it registers, its module's name in the kernel, and the file that says more about it.

    `problem`: why its module is not built; `needs_room`: because its private area is larger than the kernel's.
    """

    name: str
    module: str
    file: Path | None
    problem: str = ""
    needs_room: bool = False
    is_bpf: bool = False


@dataclass(frozen=True, slots=True)
class FoundSource:
    """A source by the hash of its content, and its controls."""

    hash: str
    controls: tuple[FoundControl, ...]


def find_controls(path: Path, kernels: Sequence[str], *, builds: bool = True) -> FoundSource:
    """The controls of a source, for the first of an experiment's kernels; ValueError states what is needed instead.

    Without `builds` only the text is read, and a source whose text says too little has none.
    """
    files = content_files(path)
    if not files:
        raise ValueError(NEEDED)
    source = content_hash(files)
    if objects := [file for name, file in files.items() if name.endswith(".ko")]:
        return FoundSource(source, tuple(_of_object(objects[0])))
    recipe = Recipe(source_texts(path))
    if not recipe.makes_modules:
        raise ValueError(NEEDED)
    settings = load_settings()
    if not builds and not recipe.is_certain:
        return FoundSource(source, ())
    if recipe.is_certain and not (builds and can_build(settings, kernels[0])):
        return FoundSource(source, tuple(_of_text(path, recipe)))
    adopt([path], settings.cache)
    try:
        build = build_source(settings, kernels[0], source)
    except BackendUnavailable:
        if not recipe.is_certain:
            raise
        return FoundSource(source, tuple(_of_text(path, recipe)))
    found = (*_of_build(path, recipe, build),)
    if not found:
        names = ", ".join(one.name for one in build.modules) or "none"
        problem = next((f": {one.problem}" for one in build.modules if one.error), "")
        raise ValueError(f"a control with a name; the objects of this source ({names}) have none{problem}")
    return FoundSource(source, found)


def _of_object(file: Path) -> Iterator[FoundControl]:
    content = file.read_bytes()
    module = module_name(content)
    names = controls_in(content)
    if not names:
        raise ValueError(f"an object that registers a congestion control; {file.name} registers none")
    for name in names:
        yield FoundControl(name, module, file)


def _of_text(path: Path, recipe: Recipe) -> Iterator[FoundControl]:
    for one in recipe.modules:
        refusal = recipe.refusals.get(one.name)
        for operations in one.operations():
            yield FoundControl(operations.name, one.module, path / one.name, str(refusal or ""), is_bpf=one.is_bpf)


def _of_build(path: Path, recipe: Recipe, build: Build) -> Iterator[FoundControl]:
    texts = {one.module: path / one.name for one in recipe.modules}
    programs = {one.module for one in recipe.modules if one.is_bpf}
    for module in build.modules:
        for name in module.controls:
            built = None if module.error else build.object(module.name)
            file = texts.get(module.name) or built
            is_bpf = module.name in programs
            yield FoundControl(name, module.name, file, module.problem, module.needs_room, is_bpf)
