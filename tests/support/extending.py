"""The examples of docs/extending.md, and a copy of the tree that has them.

A block of the page begins with the name of its file, in a comment, and with `after:` and a line where that file exists already.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from longhaul.orchestrator.system.installation import AGENT
from tests.support.folders import REPOSITORY
from tests.support.pages import DOCS, blocks
from tests.support.programs import run_program

PAGE = DOCS / "extending.md"

_HEAD = re.compile(r"(?:#|//) ([\w./-]+)(?:, after: (.+))?")
# Large folders that no example needs.
_LEFT = ("tests/", "docs/pictures/", "docs/reproductions/")


@dataclass(frozen=True, slots=True)
class Example:
    """A block: its file, the line that it follows (None: the file is new), and its text."""

    file: str
    after: str | None
    text: str

    def add_to(self, tree: Path) -> None:
        """Insert it into the file of a tree, after the first line that equals `after`."""
        file = tree / self.file
        if self.after is None:
            assert not file.exists(), f"{file} exists already"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(self.text)
            return
        lines = file.read_text().splitlines(keepends=True)
        stripped = [line.strip() for line in lines]
        assert self.after in stripped, f"no line of {self.file} is {self.after!r}: change docs/extending.md with it"
        lines.insert(stripped.index(self.after) + 1, self.text)
        file.write_text("".join(lines))


def recipes() -> dict[str, str]:
    """The text of each recipe by its title."""
    _, *sections = re.split(r"^## ", PAGE.read_text(), flags=re.MULTILINE)
    return {title: text for title, _, text in (section.partition("\n") for section in sections)}


def examples() -> list[Example]:
    """Every block of the page, in its order."""
    found = []
    for block in blocks(PAGE):
        head = _HEAD.fullmatch(block.lines[0])
        assert head is not None, f"{block} does not begin with the name of its file"
        found.append(Example(head[1], head[2], "\n".join(block.lines[1:]) + "\n"))
    return found


def extended_tree(folder: Path) -> Path:
    """A copy of the tree in this folder, with every example in it, and with the agent if it is built here."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = run_program(listing, cwd=REPOSITORY, check=True).stdout.splitlines()
    for name in [*(name for name in listed if not name.startswith(_LEFT)), str(AGENT.relative_to(REPOSITORY))]:
        if os.path.lexists(REPOSITORY / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, folder / name, follow_symlinks=False)
    for example in examples():
        example.add_to(folder)
    return folder
