"""Kernels with a name: a base, patches, configuration and a source of the user's, built for guests (build_trees.py) like those of kernel.lock.

    <cache>/kernels/named/<name>/kernel.json      what it consists of
    <cache>/kernels/named/<name>/patches/         copies of its patches, in order

The source is a version of kernel.lock, a folder (read again at each build), a revision of a Git repository, or an archive. The sandbox's
patches follow the user's.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Literal, cast

from longhaul.orchestrator.kernels.source_trees import SourceTrees
from longhaul.orchestrator.plan.run_document import KernelParts
from longhaul.orchestrator.spec.kernel_versions import KERNEL_NAME, KERNEL_NAME_RULE
from longhaul.orchestrator.system.errors import BackendError, NotFound, PlanError, nearest, remedy
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.locks import making
from longhaul.orchestrator.system.process import run_script
from longhaul.orchestrator.system.settings import Settings

_SANDBOX = KMOD / "sandbox"
_VIRTUAL_TIME = "CONFIG_UML_TIME_TRAVEL_SUPPORT"
_NAME = re.compile(KERNEL_NAME)
_CONFIG_LINE = re.compile(r"(CONFIG_[A-Za-z0-9_]+)=(y|m|n|-?\d+|0x[0-9a-fA-F]+|\"[^\"\\\n]*\")")
_CONFIG_OFF = re.compile(r"# (CONFIG_[A-Za-z0-9_]+) is not set")

SourceKind = Literal["version", "folder", "revision", "archive"]


@dataclass(frozen=True, slots=True)
class Source:
    """Where the source comes from: `place` is a version, a folder, a repository or an archive."""

    kind: SourceKind
    place: str
    # The requested revision and the commit that it named, or the SHA-256 of an archive.
    revision: str = ""
    commit: str = ""
    sha256: str = ""

    def describe(self) -> str:
        """The source in words."""
        words = {
            "version": f"Linux {self.place} of kernel.lock",
            "folder": f"the folder {self.place}",
            "revision": f"commit {self.commit[:12]} ({self.revision}) of {self.place}",
            "archive": f"the archive {self.place} ({self.sha256[:12]})",
        }
        return words[self.kind]


@dataclass(frozen=True, slots=True)
class Patch:
    """A patch, and the hunks that were found at other lines than it says."""

    name: str
    sha256: str
    offsets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedKernel:
    """What a kernel consists of; `tree` is the source with the patches, `hash` the kernel's when it was last built."""

    name: str
    source: Source
    release: str
    tree: str
    patches: tuple[Patch, ...] = ()
    config: tuple[str, ...] = ()
    hash: str = ""
    # An admin sent it to the service: it is compiled and run confined (confined_builds.py).
    sent: bool = False

    def content(self) -> dict[str, Any]:
        """Its parts for manifests and JSON."""
        return asdict(self)

    def parts(self, without: Sequence[str]) -> KernelParts:
        """Its parts for a run's document; `without` are the sandbox's patches that do not apply."""
        content = {name: value for name, value in self.content().items() if name not in ("hash", "sent")}
        return cast("KernelParts", content | {"about": f"{self.name}: {self.describe()}", "without": [*without]})

    def describe(self) -> str:
        """What it consists of, in words."""
        parts = [f"Linux {self.release} from {self.source.describe()}"]
        if self.patches:
            parts.append(f"with {len(self.patches)} patch{'es' if len(self.patches) > 1 else ''}")
        if self.config:
            parts.append(f"and {', '.join(self.config)}")
        return " ".join(parts)

    def offsets(self) -> Iterator[str]:
        """The hunks that were found at other lines than their patches say."""
        return (f"{patch.name}: {line}" for patch in self.patches for line in patch.offsets)

    def lines(self) -> Iterator[str]:
        """What it consists of, a line each."""
        yield f"source: Linux {self.release} from {self.source.describe()}, tree {self.tree[:12]}"
        yield from (f"patch: {patch.name} ({patch.sha256[:12]})" for patch in self.patches)
        yield from (f"offset: {line}" for line in self.offsets())
        yield from (f"configuration: {line}" for line in self.config)


def names(settings: Settings) -> list[str]:
    """The names of this cache's kernels."""
    return sorted(file.parent.name for file in folder_of_names(settings).glob("*/kernel.json"))


def find(settings: Settings, name: str) -> NamedKernel:
    """A kernel by its name; NotFound lists the known ones."""
    file = folder_of_names(settings) / name / "kernel.json"
    try:
        found = json.loads(file.read_text()) if _NAME.fullmatch(name) else None
    except FileNotFoundError:
        found = None
    except (OSError, ValueError) as error:
        what = error.strerror if isinstance(error, OSError) and error.strerror else "its file is damaged"
        raise BackendError(
            "reading the kernel", name, what, f"run `longhaul kernel remove {name}` and add it again"
        ) from error
    if found is None:
        known = names(settings)
        hint = f"known: {', '.join(known) or 'none; see `longhaul kernel add --help`'}{nearest(name, known)}"
        raise NotFound("looking for the kernel", name, "no kernel was added with this name", hint)
    return kernel_of(found)


def kernel_of(content: Mapping[str, Any]) -> NamedKernel:
    """The kernel of its `content()`."""
    patches = tuple(Patch(one["name"], one["sha256"], tuple(one["offsets"])) for one in content["patches"])
    parts = {"source": Source(**content["source"]), "patches": patches, "config": tuple(content["config"])}
    return NamedKernel(**{**content, **parts})


def add(
    settings: Settings,
    name: str,
    source: Source,
    patches: Sequence[Path] = (),
    config: Sequence[str] = (),
    *,
    taken: Sequence[str] = (),
    again: bool = False,
    sent: bool = False,
    left_s: Callable[[], float | None] = lambda: None,
) -> NamedKernel:
    """Read the source, apply the patches and keep what the kernel consists of under a name; nothing is compiled.

    `left_s` is called before each patch and returns the time that is left for it.
    """
    attempting = "adding the kernel"
    if not _NAME.fullmatch(name):
        raise PlanError(attempting, name, KERNEL_NAME_RULE, "choose another name")
    if name in taken:
        raise PlanError(attempting, name, "kernel.lock has a kernel with this name", "choose another name")
    if not again and name in names(settings):
        raise PlanError(attempting, name, "there is a kernel with this name", "choose another name, or use --replace")
    lines = config_lines(config)
    trees = SourceTrees(settings.cache)
    tree, source = read_source(settings, trees, source, sent)
    tree, applied = apply_patches(trees, tree, patches, left_s)
    if sent:
        trees.check_entries(tree, attempting, name, settings.kernel_build_mb * 2**20)
    before = find(settings, name) if name in names(settings) else None
    if before and before.sent and not sent:
        hint = f"run `longhaul kernel remove {name}` first"
        raise PlanError(attempting, name, "an admin sent the kernel with this name to the service", hint)
    kernel = NamedKernel(name, source, trees.release(tree), tree, applied, lines, before.hash if before else "", sent)
    try:
        with making(folder_of_names(settings)) as new:
            made = new / name
            (made / "patches").mkdir(parents=True)
            for number, patch in enumerate(patches, start=1):
                shutil.copyfile(patch, made / "patches" / f"{number:04d}-{patch.name}")
            (made / "kernel.json").write_text(json.dumps(kernel.content(), indent=1) + "\n")
            target = folder_of_names(settings) / name
            if target.is_dir():
                target.rename(new / "old")
            made.rename(target)
    except OSError as error:
        hint = remedy(error, "set LONGHAUL_CACHE to another folder")
        raise BackendError(attempting, name, error.strerror or str(error), hint) from error
    trees.keep(name, tree)
    return kernel


def diff(settings: Settings, before: str, after: str, *, only_names: bool = False) -> str:
    """The difference between the sources of two kernels, and between their configurations, as a patch."""
    trees = SourceTrees(settings.cache)
    found = [_source_of(settings, trees, name) for name in (before, after)]
    text = trees.diff(found[0].tree, found[1].tree, *(["--stat"] if only_names else []))
    lines = [set(one.config) for one in found]
    changed = [f"-{line}" for line in sorted(lines[0] - lines[1])] + [
        f"+{line}" for line in sorted(lines[1] - lines[0])
    ]
    return text + "".join(f"{line}\n" for line in (["configuration:", *changed] if changed else []))


def _source_of(settings: Settings, trees: SourceTrees, name: str) -> NamedKernel:
    """A kernel by its name; those of kernel.lock have only their version."""
    if name in names(settings):
        return find(settings, name)
    tree, source = read_source(settings, trees, Source("version", name))
    return NamedKernel(name, source, trees.release(tree), tree)


def read_source(settings: Settings, trees: SourceTrees, source: Source, sent: bool = False) -> tuple[str, Source]:
    """The tree of a source, and the source with the commit or hash that was found."""
    if source.kind == "folder":
        place = Path(source.place).expanduser().resolve()
        return trees.read_folder(place), replace(source, place=str(place))
    if source.kind == "revision":
        found = trees.read_revision(source.place, source.revision)
        return found.tree, replace(source, commit=found.commit)
    if sent and source.kind == "archive":
        # It was checked when it was sent (sent_kernels.py).
        if tree := trees.archive(source.sha256):
            return tree, source
        what = f"no archive with the SHA-256 {source.sha256} was sent"
        raise PlanError("reading the kernel's sources in", source.place, what, "send the archive first")
    archive = Path(source.place).expanduser() if source.kind == "archive" else archive_of(source.place)
    tree, sha256 = trees.read_archive(archive, source.sha256)
    return tree, replace(source, sha256=sha256)


def row_of(version: str) -> list[str]:
    """The row of kernel.lock for a version; PlanError lists the known ones."""
    rows = [line.split() for line in (_SANDBOX / "kernel.lock").read_text().splitlines()]
    known = [row[0] for row in rows if row and not row[0].startswith("#")]
    for row in rows:
        if row[:1] == [version]:
            return row
    raise PlanError(
        "looking for the kernel",
        version,
        "kernel.lock has no such version",
        f"known: {', '.join(known)}{nearest(version, known)}",
    )


def archive_of(version: str) -> Path:
    """The archive of a version's source, fetched if it is missing; BackendError names the places that were tried."""
    return Path(run_script([str(_SANDBOX / "fetch.sh"), row_of(version)[1]], "looking for the source of the kernel"))


def apply_patches(
    trees: SourceTrees, tree: str, patches: Sequence[Path], left_s: Callable[[], float | None] = lambda: None
) -> tuple[str, tuple[Patch, ...]]:
    """The tree with these patches, and what is known of each."""
    applied = []
    for patch in patches:
        try:
            sha256 = hashlib.sha256(patch.read_bytes()).hexdigest()
        except OSError as error:
            raise PlanError(
                "applying the patch", str(patch), error.strerror or str(error), "name a file of a patch"
            ) from error
        done = trees.apply(tree, patch, longest_s=left_s())
        tree = done.tree
        applied.append(Patch(patch.name, sha256, done.offsets))
    return tree, tuple(applied)


def config_lines(config: Sequence[str]) -> tuple[str, ...]:
    """Lines of configuration as Kconfig writes them; PlanError for one that is none, or without which guests have no virtual time."""
    lines = tuple(_config_line(line) for line in config)
    for line in lines:
        if _VIRTUAL_TIME in line and line != f"{_VIRTUAL_TIME}=y":
            what = "a guest without time travel runs in real time, and its numbers are those of the machine"
            raise PlanError("reading the configuration", line, what, "leave this line out")
    return lines


def _config_line(line: str) -> str:
    """A line of configuration as Kconfig writes it."""
    if match := _CONFIG_LINE.fullmatch(line.strip()):
        return f"# {match[1]} is not set" if match[2] == "n" else match[0]
    if match := _CONFIG_OFF.fullmatch(line.strip()):
        return match[0]
    raise PlanError(
        "reading the configuration",
        line.strip()[:80],
        "that is no line of a kernel's configuration",
        "write CONFIG_NAME=y, =m, =n, a number or a text in quotes",
    )


def folder_of_names(settings: Settings) -> Path:
    """The folder with a folder for each name."""
    return settings.cache / "kernels" / "named"
