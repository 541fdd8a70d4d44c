"""Programs of this machine as the two ends of a flow: what the guest needs to start them, what is missing, and their part of a run's identity.

A program in a guest sees this machine's files, so nothing is copied. Part of the identity are the program itself, the libraries that it is
linked with, and each file that its words name; other files that it reads are not.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from longhaul.orchestrator.backends.guest_iperf3 import linked_files
from longhaul.orchestrator.backends.programs import ENVIRONMENT
from longhaul.orchestrator.plan.meaning import Programs
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.files import file_sha256

# Where the agent makes the files of this machine visible, its document, and the folder of what programs print.
_WORLD, _DOCUMENT, PRINTED = "host", "world.json", "programs"
_PATH = next(one.partition("=")[2] for one in ENVIRONMENT if one.startswith("PATH="))
# Empty in a guest (agent/system/world.c).
_EMPTY = tuple(map(Path, ("/tmp", "/run", "/var/tmp", "/dev", "/proc", "/sys")))  # noqa: S108
_NEEDED = Path("/etc/hosts")


def has_programs(run: Run) -> bool:
    """Whether programs make the traffic of a flow."""
    return any(flow.program is not None for flow in run.flows)


def furnish_programs(run: Run, guest: Path) -> None:
    """What the agent needs in a guest's root."""
    if has_programs(run):
        (guest / _WORLD).mkdir()
        (guest / PRINTED).mkdir()
        (guest / _DOCUMENT).write_text(json.dumps(list(ENVIRONMENT)))


def missing_programs(run: Run) -> Iterator[tuple[str, str]]:
    """Each program or folder that this machine does not have, or that a guest does not see, with what to do."""
    for programs in _programs(run):
        if programs.folder and not Path(programs.folder).is_dir():
            yield f"the folder {programs.folder}", "create it, or name another one in command.folder"
        for words in (programs.server, programs.client):
            found = _find(programs, words[0])
            if found is None:
                yield words[0], "install it, or name another program in the flow's command"
            elif not _is_seen(programs, found):
                yield (
                    f"{found} inside the guest",
                    "name its folder in command.folder: others below /tmp and /run are empty there",
                )
    if has_programs(run) and not _NEEDED.is_file():
        yield str(_NEEDED), "create it: the guest has its own in its place"


def identity_of_programs(run: Run) -> dict[str, str]:
    """The hash of each program with its libraries, and of each file that is one of its words."""
    found: dict[str, str] = {}
    for programs in _programs(run):
        for words in (programs.server, programs.client):
            if (program := _find(programs, words[0])) is not None:
                found[f"program {words[0]}"] = _hash(linked_files(program))
            named = {word: Path(programs.folder or "/nowhere") / word for word in words[1:]}
            found |= {f"file {word}": _hash({word: file}) for word, file in named.items() if _is_file(file)}
    return found


def _programs(run: Run) -> list[Programs]:
    return [flow.program for flow in run.flows if flow.program is not None]


def _find(programs: Programs, word: str) -> Path | None:
    if "/" in word:
        file = Path(programs.folder or "/") / word
        return file if file.is_file() and os.access(file, os.X_OK) else None
    found = shutil.which(word, path=_PATH)
    return None if found is None else Path(found)


def _is_seen(programs: Programs, file: Path) -> bool:
    if programs.folder and file.is_relative_to(programs.folder):
        return True
    return not any(file.is_relative_to(folder) for folder in _EMPTY)


def _is_file(file: Path) -> bool:
    try:
        return file.is_file()
    except OSError:
        # A word that is too long for a path.
        return False


def _hash(files: Mapping[str, Path]) -> str:
    whole = hashlib.sha256()
    for name, file in sorted(files.items()):
        whole.update(f"{name} {file_sha256(file)}\n".encode())
    return whole.hexdigest()
