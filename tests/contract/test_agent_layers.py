"""The agent's layers in C: a file includes the layers below its own, in the order of docs/architecture.md, and nothing in a cycle."""

from __future__ import annotations

import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
AGENT = REPOSITORY / "orchestrator/agent"
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# A declaration begins in the first column; static declarations do not count.
DECLARED = re.compile(r"^(?!static\b|typedef\b|struct \w+ \{|#)\w[^;{(]*?\b(\w+)\(", re.MULTILINE)
SHARED = re.compile(r"^extern (?:const )?(?:struct )?\w+ ([\w, ]+);", re.MULTILINE)


@cache
def text_of(name: str) -> str:
    """A file of the agent without its comments; empty where there is none."""
    file = AGENT / name
    return COMMENT.sub("", file.read_text()) if file.is_file() else ""


@cache
def modules() -> dict[str, set[str]]:
    """A source and its header are one module; each with the modules that it includes."""
    names = sorted(
        {
            file.relative_to(AGENT).with_suffix("").as_posix()
            for file in AGENT.rglob("*.[ch]")
            if "build" not in file.relative_to(AGENT).parts
        }
    )
    found = {}
    for name in names:
        included = re.findall(r'^#include "(.+)\.h"', text_of(f"{name}.c") + text_of(f"{name}.h"), re.MULTILINE)
        assert set(included) <= set(names), name
        found[name] = set(included) - {name}
    return found


def layers() -> list[str]:
    """The layers from the highest to the lowest, as drawn in docs/architecture.md."""
    drawing = (REPOSITORY / "docs/architecture.md").read_text()
    (rows,) = re.findall(r"^    orchestrator/agent/ .*\n((?:      \w+/ .*\n)+)", drawing, re.MULTILINE)
    return re.findall(r"^      (\w+)/ ", rows, re.MULTILINE)


def declared(header: str) -> set[str]:
    functions = set(DECLARED.findall(header))
    return functions | {name.strip() for names in SHARED.findall(header) for name in names.split(",")}


def test_every_layer_is_in_the_drawing() -> None:
    assert sorted(layers()) == sorted({module.split("/")[0] for module in modules() if "/" in module})
    assert [module for module in modules() if "/" not in module] == ["main"]
    assert len([file for file in AGENT.iterdir() if file.name != "build"]) <= 12


def test_a_file_includes_no_layer_above_its_own() -> None:
    order = {layer: place for place, layer in enumerate(["main", *layers()])}
    against = {
        f"{module} -> {other}"
        for module, included in modules().items()
        for other in included
        if order[module.split("/")[0]] > order[other.split("/")[0]]
    }
    assert against == set()


def test_no_files_include_each_other_in_a_cycle() -> None:
    cycle: list[str] = []
    try:
        TopologicalSorter(modules()).prepare()
    except CycleError as error:
        cycle = error.args[1]
    assert cycle == []


def test_declarations_of_a_header_are_defined_in_its_source() -> None:
    """Otherwise an include would not name the file whose functions are called."""
    elsewhere = {
        f"{module}.h: {name}"
        for module in modules()
        for name in declared(text_of(f"{module}.h"))
        if not re.search(rf"^(?!static\b)\w[^;]*?\b{name}\b(\(| =|;)", text_of(f"{module}.c"), re.MULTILINE)
    }
    assert elsewhere == set()
    lonely = {module for module in modules() if text_of(f"{module}.c") and not text_of(f"{module}.h")}
    assert lonely == {"main"}


def test_all_sources_are_linked_from_the_lowest_layer_to_the_highest() -> None:
    (listed,) = re.findall(r"^SOURCES  := ((?:.*\\\n)*.*)$", (AGENT / "Makefile").read_text(), re.MULTILINE)
    order = {layer: place for place, layer in enumerate([*reversed(layers()), "main"])}
    sources = [module for module in modules() if text_of(f"{module}.c")]
    expected = sorted(sources, key=lambda module: (order[module.split("/")[0]], module))
    assert listed.replace("\\\n", " ").split() == [f"{module}.c" for module in expected]
