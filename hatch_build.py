"""Hatchling's build hook: the files that a wheel contains in addition to its packages.

    PREFIX/share/longhaul/                              a checkout in small: kmod/, orchestrator/agent/, playbooks/, dashboards/
    PREFIX/share/longhaul/prebuilt/                     the release's kernel, modules and agent, which `make parts` puts into build/parts
    PREFIX/share/man/man1/, .../bash-completion/        the folders of man and bash
    PREFIX/share/doc/longhaul/                          README and CHANGELOG

PREFIX is the environment that the wheel is installed into. Build products in the working copy are left out, so that the same commit
gives the same wheel; orchestrator/system/installation.py finds the files again.

With build/parts the wheel is for x86-64 Linux: its programs are linked statically. Without, as from a source distribution, it is for
every machine, which builds kernel and agent itself.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from pathspec import GitIgnoreSpec

_HOME = Path("share/longhaul")
_FOLDERS = ("kmod", "orchestrator/agent", "playbooks", "dashboards/grafana", "dashboards/rules", "dashboards/targets")
# dkms.sh reads the version in pyproject.toml.
_SINGLE = ("pyproject.toml", "dashboards/prometheus.yml")
_PAGE = "dashboards/web/dist"
_PARTS = "build/parts"
# Folders of the repository that are imported as parts of longhaul.
_ROOMS = ("api", "orchestrator", "topologies")
_ELSEWHERE = {
    "docs/*.1": "share/man/man1",
    "docs/longhaul.bash-completion": "share/bash-completion/completions",
    "README.md": "share/doc/longhaul",
    "CHANGELOG.md": "share/doc/longhaul",
}
# Bash finds a completion by the name of its command.
_NAMES = {"longhaul.bash-completion": "longhaul"}
# PT_INTERP of elf(5).
_INTERPRETER = 3
# Code that only generates files that are included.
_LEFT_OUT = ("dashboards/grafana/boards",)


class Files(BuildHookInterface[Any]):
    """Adds the files that are in no package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add shared files; an editable installation uses those of the working copy and only gets links."""
        if version != "editable":
            parts = prebuilt_files(Path(self.root, _PARTS))
            build_data["shared_data"].update(shared_files(Path(self.root)) | parts)
            if parts:
                build_data["pure_python"] = False
                build_data["tag"] = wheel_tag(map(Path, parts))
            return
        # A source distribution does not contain the links.
        for link, target in (
            ("build/import/longhaul", "../../longhaul"),
            *((f"longhaul/{name}", f"../{name}") for name in _ROOMS),
        ):
            place = Path(self.root, link)
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.is_symlink():
                place.symlink_to(target)


def shared_files(root: Path) -> dict[str, str]:
    """Path in the working copy -> path below PREFIX."""
    page = sorted(file for file in (root / _PAGE).rglob("*") if file.is_file())
    if not page:
        raise FileNotFoundError("building the wheel: the web page is not built: run `make web`, or `make wheel` alone")
    found = {str(file): str(_HOME / file.relative_to(root)) for file in (*_sources(root), *page)}
    for pattern, folder in _ELSEWHERE.items():
        found |= {str(file): f"{folder}/{_NAMES.get(file.name, file.name)}" for file in sorted(root.glob(pattern))}
    return found


def prebuilt_files(parts: Path) -> dict[str, str]:
    """The parts of the release: path -> path below PREFIX."""
    found = sorted(file for file in parts.rglob("*") if file.is_file())
    return {str(file): str(_HOME / "prebuilt" / file.relative_to(parts)) for file in found}


def wheel_tag(programs: Iterable[Path]) -> str:
    """The tag of a wheel for any Python on x86-64 Linux; ValueError if a program needs a library of the machine."""
    for file in programs:
        if needs_loader(file.read_bytes()):
            raise ValueError(
                f"building the wheel: {file} is not linked statically, so the wheel would run on few machines"
            )
    return "py3-none-manylinux_2_17_x86_64"


def needs_loader(content: bytes) -> bool:
    """Whether a file is a program that the loader of dynamic libraries starts: a 64-bit ELF file with a segment PT_INTERP, of elf(5)."""
    if content[:5] != b"\x7fELF\x02":
        return False
    (offset,) = struct.unpack_from("<Q", content, 0x20)
    size, count = struct.unpack_from("<HH", content, 0x36)
    return any(struct.unpack_from("<I", content, offset + size * index) == (_INTERPRETER,) for index in range(count))


def _sources(root: Path) -> Iterator[Path]:
    # .gitignore lists the build products; the working copy need not be a git repository.
    ignored = GitIgnoreSpec.from_lines((root / ".gitignore").read_text().splitlines())
    for place in sorted((*_FOLDERS, *_SINGLE)):
        for file in sorted((root / place).rglob("*")) if place in _FOLDERS else [root / place]:
            name = str(file.relative_to(root))
            if file.is_file() and not name.startswith(_LEFT_OUT) and not ignored.match_file(name):
                yield file
