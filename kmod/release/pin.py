"""Pins the release: writes kmod/sandbox/release.lock from the kernels, modules and agent that are built on this machine.

    python -m kmod.release.pin VERSION...       `make pin`

Run it on Debian 12 after a change to the sources of one of them, and commit the file. A changed pin is a changed id of every run.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from kmod.release.parts import agent_source, sources_of
from longhaul.orchestrator.kernels.release_lock import LOCK, kernel_inputs, modules_inputs
from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.installation import KMOD, agent_inputs
from longhaul.orchestrator.system.process import ask_program

_HEAD = """\
# The parts of the release by their content, written by `make pin` (kmod/release/pin.py); read by
# orchestrator/kernels/release_lock.py, which describes the columns.
#
# The kernels are built from Debian's source packages below with the patches and configuration in this folder.
"""


def source_of(version: str) -> tuple[str, str, str]:
    """(package, its version, SHA-256 of its archive) of a kernel's source on this machine."""
    rows = (line.split() for line in (KMOD / "sandbox/kernel.lock").read_text().splitlines())
    package = next(row[1] for row in rows if row[:1] == [version])
    query = ["dpkg-query", "--showformat", "${Version}", "--show", package]
    found = ask_program(query, "asking for the version of")
    return package, found, hashlib.sha256(Path(f"/usr/src/{package}.tar.xz").read_bytes()).hexdigest()


def compiler() -> str:
    """The compiler of this machine, as build.sh reads it."""
    return ask_program(["gcc", "--version"], "asking for the version of").splitlines()[0]


def lines(versions: Sequence[str]) -> Iterator[str]:
    """The lines of release.lock."""
    yield f"compiler {compiler()}"
    for version in versions:
        yield f"source {version} {' '.join(source_of(version))}"
    found = dict(agent_source())
    yield f"agent {agent_inputs()}"
    for version in versions:
        parts = dict(sources_of(version, None))
        names = {
            kind: next(path for path in parts if path.startswith(kind)).split("/")[1] for kind in ("kernels", "modules")
        }
        yield f"kernel {version} {names['kernels']} {kernel_inputs(version)}"
        yield f"modules {version} {names['modules']} {modules_inputs()}"
        found |= parts
    for path, file in found.items():
        yield f"file {hashlib.sha256(file.read_bytes()).hexdigest()} {path}"


def main() -> int:
    """Pin the versions of the arguments."""
    try:
        text = _HEAD + "".join(f"{line}\n" for line in lines(sys.argv[1:]))
    except LonghaulError as error:
        print(f"pin: {error}", file=sys.stderr)
        return error.exit_code
    LOCK.write_text(text)
    print(LOCK)
    return 0


if __name__ == "__main__":
    sys.exit(main())
