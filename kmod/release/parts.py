"""Collects the parts of the release: kernels, the project's modules for them, and the agent.

    python -m kmod.release.parts FOLDER VERSION...      FOLDER/kernels/<hash>/ modules/<hash>/ agent/

Parts come from the cache, where `make kernels` puts them, and from the agent that `make agent` builds. Each must have the content that
release.lock (pin.py) pins.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from longhaul.orchestrator.kernels.release_lock import (
    AGENT_PART,
    Part,
    Release,
    kernel_inputs,
    modules_inputs,
    read_release,
    write_part,
)
from longhaul.orchestrator.system.errors import BackendError, LonghaulError
from longhaul.orchestrator.system.installation import AGENT, agent_inputs
from longhaul.orchestrator.system.locks import making
from longhaul.orchestrator.system.settings import load_settings

_ATTEMPT = "collecting the release's"
_AGAIN = "build it on Debian 12 with the pinned compiler and kernel source, or pin what is built here with `make pin`"


def sources_of(version: str, release: Release | None) -> Iterator[tuple[str, Path]]:
    """(path among the parts, file) of a kernel and its modules: those of a release, or without one the current ones of the cache."""
    settings = load_settings()
    kernel, modules = settings.kernel(version), settings.modules(version)
    if release is not None:
        kernel, modules = (settings.cache / part[version].folder for part in (release.kernels, release.modules))
    for folder in (kernel, modules):
        if not folder.is_dir():
            raise BackendError(_ATTEMPT, f"kernel {version}", f"there is no {folder}", f"run `make kernels`; {_AGAIN}")
    for name in ("linux", "config", "manifest.json"):
        yield f"kernels/{kernel.resolve().name}/{name}", kernel / name
    for file in sorted((kernel / "modules").glob("*.ko")):
        yield f"kernels/{kernel.resolve().name}/modules/{file.name}", file
    for file in sorted(modules.glob("*.ko")):
        yield f"modules/{modules.resolve().name}/{file.name}", file


def agent_source() -> Iterator[tuple[str, Path]]:
    """The agent, in the same form."""
    if not AGENT.is_file():
        raise BackendError(_ATTEMPT, "agent", f"there is no {AGENT}", "run `make agent`")
    yield AGENT_PART, AGENT


def check_inputs(release: Release, versions: Sequence[str]) -> None:
    """Refuse pins of other sources than those of this working copy."""
    pinned: dict[str, tuple[Part | None, str]] = {"agent": (release.agent, agent_inputs())}
    for version in versions:
        pinned[f"kernel {version}"] = release.kernels.get(version), kernel_inputs(version)
        pinned[f"modules for {version}"] = release.modules.get(version), modules_inputs()
    for name, (part, inputs) in pinned.items():
        if part is None or part.inputs != inputs:
            what = "its sources here are not those that release.lock pins"
            raise BackendError(_ATTEMPT, name, what, "run `make pin` and commit kmod/sandbox/release.lock")


def collect(folder: Path, versions: Sequence[str], release: Release) -> None:
    """Put these parts into the folder, and nothing else; a folder that has them already stays as it is."""
    found = [*agent_source(), *(one for version in versions for one in sources_of(version, release))]
    contents = {path: file.read_bytes() for path, file in found}
    for path, content in contents.items():
        if fault := release.find_fault(path, content):
            raise BackendError(_ATTEMPT, path, f"it has {fault}", _AGAIN)
    pinned = [release.agent, *(part[version] for version in versions for part in (release.kernels, release.modules))]
    for path in (path for part in pinned if part is not None for path in release.files_of(part)):
        if path not in contents:
            raise BackendError(_ATTEMPT, path, "it is pinned, and not built here", _AGAIN)
    if {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()} == contents:
        return
    # Its lock is in the folder too, so that nothing appears next to it.
    with making(folder.parent / "new") as new:
        for path, content in contents.items():
            write_part(new / folder.name / path, content)
        shutil.rmtree(folder, ignore_errors=True)
        (new / folder.name).rename(folder)


def main() -> int:
    """Collect what the arguments name."""
    parser = argparse.ArgumentParser(description="Collect the parts of the release.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("versions", nargs="+")
    options = parser.parse_args()
    release = read_release()
    try:
        check_inputs(release, options.versions)
        collect(options.folder, options.versions, release)
    except LonghaulError as error:
        print(f"parts: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
