"""The sources of user-supplied modules that a service keeps: their controls, texts, builds and differences, and trials of them.

$LONGHAUL_CACHE/own/<hash>/     one version of a source; versions belong together if they register a control of one name
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from longhaul.orchestrator.modules.build import Build, build_source, source_texts
from longhaul.orchestrator.modules.content import content_files, is_hash
from longhaul.orchestrator.modules.recipe import Recipe
from longhaul.orchestrator.spec.user_code.module_sources import admit_sources, read_sources
from longhaul.orchestrator.system.errors import NotFound
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

_MOST_DIFF_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class KeptSource:
    """A source that is kept: the names of its controls as its text has them, its files, and since when it is here."""

    source: str
    controls: tuple[str, ...]
    files: tuple[str, ...]
    bytes: int
    kept_at: datetime


def kept_sources(settings: Settings, most: int) -> list[KeptSource]:
    """The newest of them, the newest first."""
    folders = [one for one in (settings.cache / "own").glob("*") if is_hash(one.name)]
    newest = sorted(folders, key=lambda one: (one.stat().st_mtime, one.name), reverse=True)
    return [_kept(folder) for folder in newest[:most]]


def kept_source(settings: Settings, source: str) -> KeptSource:
    """One of them; NotFound."""
    return _kept(_folder(settings, source))


def read_texts(settings: Settings, source: str) -> dict[str, str]:
    """The texts of its files by their names."""
    return source_texts(_folder(settings, source))


def keep_files(settings: Settings, files: Mapping[str, str]) -> str:
    """Keep a source, and return its hash; PlanError states what is needed instead."""
    return admit_sources(files, None, settings.cache)


def keep_archive(settings: Settings, archive: Path) -> str:
    """Keep the source in an archive, and return its hash; PlanError states what is needed instead."""
    source, texts = read_sources(str(archive), ("receiving module", archive.name))
    return admit_sources(texts, source, settings.cache)


def build_kept(settings: Settings, source: str, kernel: str) -> Build:
    """Its modules for a kernel: built confined, or found in the cache."""
    _folder(settings, source)
    return build_source(settings, kernel, source)


def difference(settings: Settings, before: str, after: str) -> str:
    """The difference between two of them, as a patch."""
    text = "".join(_difference(read_texts(settings, before), read_texts(settings, after)))
    return text if len(text) <= _MOST_DIFF_BYTES else text[:_MOST_DIFF_BYTES] + "\n"


def _difference(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    for name in sorted({*before, *after}):
        old, new = before.get(name, ""), after.get(name, "")
        if old != new:
            names = (f"a/{name}" if name in before else "/dev/null", f"b/{name}" if name in after else "/dev/null")
            for line in difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), *names):
                yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


@lru_cache(maxsize=1024)
def _kept(folder: Path) -> KeptSource:
    """One of them; its content never changes."""
    files = content_files(folder)
    operations = [one for module in Recipe(source_texts(folder)).modules for one in module.operations()]
    names = tuple(dict.fromkeys(one.name for one in operations if one.name))
    size = sum(file.stat().st_size for file in files.values())
    return KeptSource(
        folder.name, names, tuple(sorted(files)), size, datetime.fromtimestamp(folder.stat().st_mtime, UTC)
    )


def _folder(settings: Settings, source: str) -> Path:
    folder = settings.cache / "own" / source
    if not is_hash(source) or not folder.is_dir():
        raise NotFound("looking for the source", source, "no source with this hash is here", "see GET /module-sources")
    return folder
