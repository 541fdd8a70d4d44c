"""Commands in errors and notes exist: every `make ...` and `longhaul ...` between backquotes in the source."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperGroup

from longhaul.cli.main import app
from tests.support.folders import REPOSITORY

SOURCES = [
    file
    for top in (
        "longhaul/cli",
        "longhaul/client",
        "longhaul/laboratory",
        "longhaul/results",
        "api",
        "orchestrator",
        "topologies",
    )
    for file in sorted((REPOSITORY / top).rglob("*.py"))
]


def texts(file: Path) -> Iterator[str]:
    """Every text of a module, with X for the values of f-strings."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "X" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def commands(program: str) -> set[tuple[str, str]]:
    """Module and arguments of every such command that the source names."""
    return {
        (file.relative_to(REPOSITORY).as_posix(), arguments)
        for file in SOURCES
        for text in texts(file)
        for arguments in re.findall(rf"`{program} ([^`]+)`", text)
    }


def test_every_target_of_make_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    named = {(file, word) for file, line in commands("make") for word in line.split() if re.fullmatch(r"[a-z-]+", word)}
    assert {one for one in named if one[1] not in targets} == set()
    assert named


def test_every_command_that_is_named_exists() -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    named = commands("longhaul")
    unknown = set()
    for file, line in named:
        group: object = root
        for word in line.split():
            if not isinstance(group, TyperGroup):
                break
            if word.startswith(("-", "X", ".")) or word.isupper():
                break
            if word not in group.commands:
                unknown.add((file, line))
                break
            group = group.commands[word]
    assert unknown == set()
    assert len(named) > 20


@pytest.mark.parametrize("line", ["run `make kernel modules` again", "`longhaul kernels build`"])
def test_missing_commands_are_found(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = REPOSITORY / "orchestrator" / "invented.py"
    monkeypatch.setattr(
        Path, "read_text", lambda self, read=Path.read_text: repr(line) if self == source else read(self)
    )
    monkeypatch.setattr("tests.contract.test_remedies.SOURCES", [*SOURCES, source])
    with pytest.raises(AssertionError):
        test_every_target_of_make_that_is_named_exists() if "make" in line else test_every_command_that_is_named_exists()
