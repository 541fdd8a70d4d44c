"""iperf3 for a guest: the host's program and the libraries it is linked with, in a root without other files.

    bin/iperf3   lib/<libraries>   the dynamic loader at the path that the program names

The dynamic loader lists those libraries. All of them are part of a run's identity.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.process import ask_program, run_program

MISSING = ("iperf3", "run `apt-get install iperf3`")

# `ldd` prints a line each:  libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)    /lib64/ld-linux-x86-64.so.2 (0x...)
_LIBRARY = re.compile(r"^\s*(\S+) => (/\S+) \(0x", re.MULTILINE)
_LOADER = re.compile(r"^\s*(/\S+) \(0x", re.MULTILINE)
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Iperf3:
    """The program of this machine: the path here of each of its files, by its path in the guest's root."""

    version: str
    files: Mapping[str, Path]

    def copy_to(self, root: Path) -> None:
        """Copies, not links: root in a guest could write to the machine's own libraries."""
        for place, file in self.files.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / place)


def linked_files(program: Path) -> dict[str, Path]:
    """A program and the libraries that it is linked with; a script or a static program has none."""
    answer = run_program(["ldd", str(program)])
    return {f"bin/{program.name}": program} | _libraries(answer.stdout.decode(errors="replace"))


def _libraries(linked: str) -> dict[str, Path]:
    """The libraries in the answer of ldd, by their paths in a guest's root."""
    files = {f"lib/{name}": Path(path) for name, path in _LIBRARY.findall(linked)}
    return files | {path.lstrip("/"): Path(path) for path in _LOADER.findall(linked)}


def find_iperf3() -> Iperf3 | None:
    """None if this machine has none, or if it lacks a library."""
    found = shutil.which("iperf3")
    if found is None:
        return None
    linked = ask_program(["ldd", found], "finding the libraries of")
    if _NOT_FOUND.search(linked):
        return None
    files = {"bin/iperf3": Path(found)} | _libraries(linked)
    # Its second line is about the host.
    version = ask_program([found, "--version"], "asking for the version of").partition("\n")[0]
    return Iperf3(version, files)
