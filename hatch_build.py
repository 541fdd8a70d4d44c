"""Hatchling's build hook: the files that a wheel contains in addition to its packages.

    PREFIX/share/longhaul/                              a checkout in small: kmod/, orchestrator/agent/, playbooks/, dashboards/
    PREFIX/share/longhaul/prebuilt/                     the release's kernel, modules and agent, which `make parts` puts into build/parts
    PREFIX/share/man/man1/, .../bash-completion/        the folders of man and bash
    PREFIX/share/doc/longhaul/                          README and CHANGELOG

PREFIX is the environment that the wheel is installed into. Build products in the working copy are left out, so that the same commit
gives the same wheel; orchestrator/system/installation.py finds the files again.

With build/parts the wheel is for x86-64 Linux with the glibc that its programs need. Without, as from a source distribution, it is for
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
# SHT_GNU_verneed of elf(5).
_VERNEED = 0x6FFFFFFE
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
    """The tag of a wheel for any Python on x86-64 Linux, with the lowest glibc that has every symbol of its programs."""
    needed = max((version for file in programs for version in glibc_versions(file.read_bytes())), default=(2, 17))
    return f"py3-none-manylinux_{needed[0]}_{needed[1]}_x86_64"


def glibc_versions(elf: bytes) -> Iterator[tuple[int, int]]:
    """The versions of glibc's symbols that a 64-bit ELF file needs: none if it is static, or no such file.

    The sections are those of elf(5): .gnu.version_r lists the files that it links to, each with a list of versions.
    """
    if elf[:5] != b"\x7fELF\x02":
        return
    (offset,) = struct.unpack_from("<Q", elf, 0x28)
    size, count = struct.unpack_from("<HH", elf, 0x3A)
    # Of each section: type, place in the file, and the section of its names.
    sections = [struct.unpack_from("<4xI16xQ8xI", elf, offset + size * index) for index in range(count)]
    for kind, start, names in sections:
        if kind != _VERNEED:
            continue
        strings, file_at, more_files = sections[names][1], start, True
        while more_files:
            versions, first, next_file = struct.unpack_from("<2xH4xII", elf, file_at)
            at = file_at + first
            for _ in range(versions):
                name, next_version = struct.unpack_from("<8xII", elf, at)
                text = elf[strings + name : elf.index(b"\0", strings + name)].decode()
                if text.startswith("GLIBC_2."):
                    yield 2, int(text.split(".")[1])
                at += next_version
            more_files, file_at = bool(next_file), file_at + next_file


def _sources(root: Path) -> Iterator[Path]:
    # .gitignore lists the build products; the working copy need not be a git repository.
    ignored = GitIgnoreSpec.from_lines((root / ".gitignore").read_text().splitlines())
    for place in sorted((*_FOLDERS, *_SINGLE)):
        for file in sorted((root / place).rglob("*")) if place in _FOLDERS else [root / place]:
            name = str(file.relative_to(root))
            if file.is_file() and not name.startswith(_LEFT_OUT) and not ignored.match_file(name):
                yield file
