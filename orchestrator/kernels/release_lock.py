"""kmod/sandbox/release.lock: the parts of the release, each by the hash of its content; and what this working copy would build them from.

    source   6.12  linux-source-6.12  6.12.117-1~deb12u1  <sha256 of the archive>
    compiler gcc (Debian 12.2.0-14) 12.2.0
    kernel   6.12  <name of its folder>  <hash of the project's files that it is built from>
    modules  6.12  <name of their folder>  <the same for them>
    agent    <the same for it>
    file     <sha256>  kernels/<folder>/linux

A part that was built from other files than those of this installation is not this installation's: `inputs` are compared before `file`.
`make pin` writes it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from longhaul.orchestrator.system.installation import AGENT_FILE, KMOD
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

LOCK = KMOD / "sandbox/release.lock"
# The agent's path among the parts.
AGENT_PART = f"agent/{AGENT_FILE}"

# The first lines of a patch, and of a fragment of the configuration after a #.
_HEAD = {
    "Purpose": re.compile(r"^Purpose: (truth|speed|parts)$", re.MULTILINE),
    "Kernels": re.compile(r"^(?:# )?Kernels: (?:from )?([\d.]+)(?: to ([\d.]+))?$", re.MULTILINE),
}
# The effect of a patch that may be missing, by its purpose.
_EFFECTS = {"speed": " and makes runs faster only", "parts": " and matters only to a run in parts"}


@dataclass(frozen=True, slots=True)
class Part:
    """A folder of the release: its name among the parts, and the hash of what it is built from."""

    folder: str
    inputs: str


@dataclass(frozen=True, slots=True)
class Source:
    """The package of Debian that a kernel's source comes from."""

    package: str
    version: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Release:
    """What release.lock pins. `files` has the SHA-256 of each file by its path among the parts."""

    kernels: dict[str, Part]
    modules: dict[str, Part]
    agent: Part | None
    sources: dict[str, Source]
    compiler: str
    files: dict[str, str]

    def files_of(self, part: Part) -> dict[str, str]:
        """The SHA-256 of each file of a part."""
        return {path: sha256 for path, sha256 in self.files.items() if path.startswith(f"{part.folder}/")}

    def find_fault(self, path: str, content: bytes) -> str | None:
        """The difference between a file's content and the pinned one, in words; None if there is none."""
        found, pinned = hashlib.sha256(content).hexdigest(), self.files.get(path, "none")
        return None if found == pinned else f"the hash {found[:12]}, not {pinned[:12]} as release.lock pins"


def write_part(file: Path, content: bytes) -> None:
    """Write a file of a part, with the permissions of a program or of data."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    file.chmod(0o755 if file.name.endswith(("linux", AGENT_FILE)) else 0o644)


def read_release() -> Release:
    """The pinned release; an installation without the file pins nothing."""
    release = Release({}, {}, None, {}, "", {})
    agent, compiler = None, ""
    for line in LOCK.read_text().splitlines() if LOCK.is_file() else ():
        kind, *words = line.split() or [""]
        if kind == "file":
            release.files[words[1]] = words[0]
        elif kind == "kernel":
            release.kernels[words[0]] = Part(f"kernels/{words[1]}", words[2])
        elif kind == "modules":
            release.modules[words[0]] = Part(f"modules/{words[1]}", words[2])
        elif kind == "agent":
            agent = Part("agent", words[0])
        elif kind == "source":
            release.sources[words[0]] = Source(*words[1:4])
        elif kind == "compiler":
            compiler = line.partition(" ")[2].strip()
    return Release(release.kernels, release.modules, agent, release.sources, compiler, release.files)


def kernel_inputs(version: str) -> str:
    """The hash of the project's files that this kernel is built from: all that build.sh reads but the source archive and the compiler."""
    sandbox = KMOD / "sandbox"
    row = next(line for line in (sandbox / "kernel.lock").read_text().splitlines() if line.split()[:1] == [version])
    upstream, *fragment = row.split()[2:4]
    profile = sandbox / f"profile-{version}.tar.xz"
    fragments = [*fragments_for(upstream), *(sandbox / name for name in fragment)]
    named = [sandbox / "kernel.config", *fragments, sandbox / "build.sh", sandbox / "compile.sh"]
    patches = [file for file, _ in patches_for(upstream)]
    return _digest([*named, *patches, *([profile] if profile.is_file() else [])], row)


def patches_for(version: str) -> list[tuple[Path, str]]:
    """The sandbox's patches for a release of Linux in their order, each with its purpose.

    "truth" must apply. "speed" and "parts" may be missing: then runs are slower, or a run is not cut into parts by itself.
    """
    files = _for_release("patches/*.patch", version)
    return [(file, _HEAD["Purpose"].findall(file.read_text())[0]) for file in files]


def effect_of(name: str) -> str:
    """The end of a sentence about a patch that a kernel is without; empty for one of an earlier release."""
    file = KMOD / "sandbox/patches" / name
    return _EFFECTS.get(_HEAD["Purpose"].findall(file.read_text())[0], "") if file.is_file() else ""


def fragments_for(version: str) -> list[Path]:
    """The lines of configuration that only some releases of Linux have, as files over kernel.config."""
    return _for_release("fragments/*.config", version)


def _for_release(pattern: str, version: str) -> list[Path]:
    """The files for a release, in the order of build.sh, which chooses in the same way."""
    chosen = []
    for file in sorted((KMOD / "sandbox").glob(pattern)):
        first, last = _HEAD["Kernels"].findall(file.read_text())[0]
        if _number(first) <= _number(version) and (not last or _number(version) <= _number(last)):
            chosen.append(file)
    return chosen


def _number(version: str) -> tuple[int, int]:
    """A release as numbers that compare: 6.12 of 6.12, 6.12.57 and 6.12-rc3."""
    major, minor = re.findall(r"\d+", version)[:2]
    return int(major), int(minor)


def modules_inputs() -> str:
    """The hash of the project's files that its modules are built from."""
    # make leaves files of this name.
    sources = sorted(file for file in KMOD.glob("*.[ch]") if not file.name.endswith(".mod.c"))
    return _digest([KMOD / "sandbox/build-modules.sh", KMOD / "Kbuild", *sources])


def _digest(files: Iterable[Path], more: str = "") -> str:
    digest = hashlib.sha256(more.encode())
    for file in files:
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    return digest.hexdigest()[:32]
