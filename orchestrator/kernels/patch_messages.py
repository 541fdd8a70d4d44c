"""What `git apply` says about a patch, in words: the file and hunk that it refuses, and the hunks that it finds at other lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_FAILED = re.compile(r"error: patch failed: (.+):(\d+)$", re.MULTILINE)
_OFFSET = re.compile(
    r"^(Checking patch (?P<file>.+?)\.\.\.|Hunk #(?P<hunk>\d+) succeeded at (?P<line>\d+) \(offset (?P<offset>-?\d+) lines?\)\.)$"
)


def reject_of(messages: str, patch: Path) -> str:
    """The file and hunk of a patch that Git refused, in words."""
    if match := _FAILED.search(messages):
        name, line = match.groups()
        return f"hunk {_hunk(patch, name, line)} of {name} does not fit, at line {line}"
    if not patch.read_bytes().strip():
        return "the file is empty"
    errors = [line.removeprefix("error: ") for line in messages.splitlines() if line.startswith("error: ")]
    return errors[0] if errors else "it is not a patch"


def _hunk(patch: Path, name: str, line: str) -> int:
    """The number of a hunk in its file's part of a patch, by its line in the file before."""
    number, inside = 0, False
    for text in patch.read_text(errors="replace").splitlines():
        if text.startswith("+++ "):
            inside, number = text[4:].split("\t")[0].strip().partition("/")[2] == name, 0
        elif inside and text.startswith("@@ -"):
            number += 1
            if text[4:].split()[0].split(",")[0] == line:
                return number
    return max(number, 1)


def offsets_of(messages: str) -> Iterator[str]:
    """The hunks that were found at other lines than the patch says, in words."""
    name = ""
    for line in messages.splitlines():
        if match := _OFFSET.match(line):
            if match["file"]:
                name = match["file"]
            else:
                yield f"hunk {match['hunk']} of {name} at line {match['line']}, {match['offset']} lines from where the patch says"
