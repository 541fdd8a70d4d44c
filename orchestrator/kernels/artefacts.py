"""The parts of guests, by the hash of their content: kernels, agent, modules, on every machine that runs them.

    <cache>/artefacts/<sha256>      a file from another machine, or one found in this cache under its own name
    <cache>/sets/<hash>/            the files of one kind of run under their names in a cache, as hard links

A file is used only if its content has the requested hash: checked on arrival, and once more by every process
that uses it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from longhaul.orchestrator.system.errors import BackendError, remedy
from longhaul.orchestrator.system.locks import making

# The places of files in a cache that a run may need, without the trees that modules are built against.
_OWN = (
    "kernels/[!.]*/linux",
    "kernels/[!.]*/manifest.json",
    "kernels/[!.]*/config",
    "kernels/[!.]*/modules/*.ko",
    # Earlier builds too: `current-*` are links to the newest ones.
    "modules/[!.]*/*.ko",
)


def hashes(files: Mapping[str, Path]) -> dict[str, str]:
    """The hash of each file's content, as 64 digits."""
    return {name: _hash(file, *_stamp(file)) for name, file in files.items()}


def _stamp(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_mtime_ns, found.st_size


@lru_cache(maxsize=4096)
def _hash(file: Path, mtime_ns: int, size: int) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


class Artefacts:
    """The artefacts of one cache."""

    def __init__(self, cache: Path, agent: Path) -> None:
        self._folder = cache / "artefacts"
        self._sets = cache / "sets"
        self._cache = cache
        self._agent = agent
        self._verified: set[str] = set()
        self._laying_out = threading.Lock()

    def lacking(self, wanted: Mapping[str, str]) -> list[str]:
        """The hashes that are not in this cache; files that it has under other names are copied from there."""
        with self._laying_out:
            missing = [sha256 for sha256 in dict.fromkeys(wanted.values()) if not self._has(sha256)]
            if missing:
                own = {_hash(file, *_stamp(file)): file for file in self._own()}
                for sha256 in missing:
                    if sha256 in own:
                        self._put(sha256, own[sha256].read_bytes())
            return [sha256 for sha256 in missing if not self._has(sha256)]

    def receive(self, sha256: str, content: bytes) -> None:
        """Store a file from another machine."""
        found = hashlib.sha256(content).hexdigest()
        if found != sha256:
            what = f"the received content has the hash {found[:12]}"
            raise BackendError(
                "receiving artefact", sha256[:12], what, "it was changed in transit; see docs/cluster.md"
            )
        self._put(sha256, content)

    def retain(self, file: Path) -> None:
        """Keep the content of a file of this machine, also after another is built in its place."""
        sha256 = _hash(file, *_stamp(file))
        if not (self._folder / sha256).is_file():
            self._put(sha256, file.read_bytes())

    def lay_out(self, wanted: Mapping[str, str]) -> Path:
        """A folder in which each of these contents has its name."""
        words = "".join(f"{name} {sha256}\n" for name, sha256 in sorted(wanted.items()))
        target = self._sets / hashlib.sha256(words.encode()).hexdigest()[:32]
        with self._laying_out:
            if self._is_laid_out(target, wanted):
                return target
            with making(self._sets) as folder:
                new = folder / target.name
                for name, sha256 in wanted.items():
                    (new / name).parent.mkdir(parents=True, exist_ok=True)
                    os.link(self._folder / sha256, new / name)
                if not self._is_laid_out(target, wanted):
                    shutil.rmtree(target, ignore_errors=True)
                    new.rename(target)
        return target

    def _is_laid_out(self, target: Path, wanted: Mapping[str, str]) -> bool:
        """Whether a set is complete; one with links to files that were replaced since is not."""
        try:
            return all((target / name).samefile(self._folder / sha256) for name, sha256 in wanted.items())
        except FileNotFoundError:
            return False

    def _has(self, sha256: str) -> bool:
        file = self._folder / sha256
        if sha256 in self._verified and file.is_file():
            return True
        if not file.is_file():
            return False
        if hashlib.sha256(file.read_bytes()).hexdigest() != sha256:
            file.unlink(missing_ok=True)
            return False
        self._verified.add(sha256)
        return True

    def _put(self, sha256: str, content: bytes) -> None:
        try:
            with making(self._folder) as folder:
                # Another process of this cache may have been quicker, and may be using its file.
                if self._has(sha256):
                    return
                new = folder / sha256
                new.write_bytes(content)
                # Kernel and agent are executed, by the user of this worker.
                new.chmod(0o755)
                new.replace(self._folder / sha256)
        except OSError as error:
            hint = remedy(error, "set LONGHAUL_CACHE to another folder")
            raise BackendError("keeping artefact", str(self._folder), error.strerror or str(error), hint) from error

    def _own(self) -> Iterator[Path]:
        if self._agent.is_file():
            yield self._agent
        for pattern in _OWN:
            yield from {file.resolve() for file in self._cache.glob(pattern)}
