"""The pages of the documentation as tests read them: blocks, and the commands in them.

tests/guest/commands/test_pages.py runs every block of commands except those in pages_not_run.yaml.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.folders import REPOSITORY

DOCS = REPOSITORY / "docs"
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(DOCS.rglob("*.md")),
]

# Of each page: how a block begins, and the test that runs it or the reason why none does.
NOT_RUN: dict[str, dict[str, str]] = yaml.safe_load((Path(__file__).parent / "pages_not_run.yaml").read_text())
_PROGRAMS = (
    "longhaul", "make", "docker", "curl", "export", "sudo", "git", "python3", "pip", "apt-get", "cp", "ansible", "ansible-playbook", "prometheus", "promtool",
    "modprobe", "sysctl", "rmmod", "tc", "mokutil", "reboot", "systemctl", "runuser", "rm", "mkdir", "createuser", "srun", "dkms", "eval", "cd", "man", "source"
)  # fmt: skip
# Several spaces or an assignment after the word belong to a drawing, not to a command.
_COMMAND = re.compile(rf"(?:\$ )?(?:[A-Z_]+=\S+ )*(?:\.venv/bin/\w+|{'|'.join(_PROGRAMS)})(?: (?![ =])|$)")
_SHELLS = ("", "console", "bash", "sh")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced or indented block; `language` is empty for an indented one."""

    page: Path
    line: int
    language: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line}"

    def steps(self) -> Iterator[tuple[str, str]]:
        """Each command with the output that is shown for it; nothing if the block has no commands."""
        if self.language not in _SHELLS:
            return
        command = ""
        shown: list[str] = []
        for line in self.lines:
            if command.endswith("\\"):
                command = command[:-1] + line.strip()
            elif line.startswith("$ ") if self.language else _COMMAND.match(line):
                if command:
                    yield self._without_remark(command), "\n".join(shown)
                command, shown = line.removeprefix("$ "), []
            else:
                shown.append(line)
        if command:
            yield self._without_remark(command), "\n".join(shown)

    def _without_remark(self, line: str) -> str:
        """The command alone: in an indented block a remark follows it after two spaces, or a space and #."""
        return line if self.language else re.split(r"\s{2,}|\s+# ", line.strip())[0]

    @property
    def not_run(self) -> str:
        """The test that runs the block in place of test_pages.py, or the reason why none does; empty if test_pages.py runs it."""
        first = self.lines[0] if self.lines else ""
        listed = NOT_RUN.get(str(self.page.relative_to(REPOSITORY)), {})
        return next((reason for beginning, reason in listed.items() if first.startswith(beginning)), "")

    @property
    def done_by(self) -> str:
        return self.not_run if self.not_run.startswith("tests/") else ""


def blocks(page: Path) -> Iterator[Block]:
    """Every block of a page, in order."""
    lines = page.read_text().splitlines()
    number = 0
    while number < len(lines):
        line = lines[number]
        begin = number + 1
        if line.startswith("```"):
            end = lines.index("```", begin)
            yield Block(page, begin, line[3:].strip() or "text", tuple(lines[begin:end]))
            number = end + 1
        elif line.startswith("    ") and not lines[number - 1].strip():
            end = number
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            yield Block(page, begin, "", tuple(one[4:] for one in lines[number:end]))
            number = end
        else:
            number += 1


def words_of_longhaul(command: str) -> Iterator[list[str]]:
    """The arguments of each call of longhaul in a command line."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    for operator, part in itertools.groupby(lexer, lambda word: set(word) <= set("();<>|&")):
        words = list(part)
        while words and (words[0] in ("sudo", "srun") or "=" in words[0]):
            words = words[1:]
        if words[:2] == ["docker", "compose"] and "api" in words:
            words = words[words.index("api") + 1 :]
        if not operator and words and words[0] in ("longhaul", ".venv/bin/longhaul"):
            yield [re.sub(r"^\$[A-Z_]+$", "1", word) for word in words[1:]]
