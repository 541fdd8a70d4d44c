"""The sources whose steps a bisect judges: kernels or a module at each commit, kernels with more and more patches."""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from longhaul.orchestrator.kernels import build_trees, named_kernels
from longhaul.orchestrator.kernels.build import known_kernels
from longhaul.orchestrator.kernels.histories import Commits, History, Patches
from longhaul.orchestrator.kernels.source_trees import ask_git, unpack_folder
from longhaul.orchestrator.spec.load import plain_data
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.user_code.user_modules import Entry, entries_of
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.settings import Settings

_ATTEMPT = "bisecting"


def source_of(
    settings: Settings,
    experiment: Experiment,
    tree: str | os.PathLike[str] | None,
    module: str | os.PathLike[str] | None,
    ends: tuple[str, str],
    patches: Sequence[Path],
    base: str,
    config: Sequence[str],
) -> StepSource:
    """The one source that is given."""
    given = [name for name, value in (("a tree", tree), ("a module", module), ("patches", patches)) if value]
    if len(given) != 1:
        what = f"{' and '.join(given)} are given" if given else "there is nothing to bisect"
        raise PlanError(_ATTEMPT, experiment.experiment, what, "give one of a tree, a module or patches")
    if patches:
        content = [hashlib.sha256(_read(patch)).hexdigest() for patch in patches]
        return _KernelSteps(
            settings, Patches(patches), named_kernels.Source("version", base), config, _key(base, *content, *config)
        )
    if not all(ends):
        raise PlanError(
            _ATTEMPT,
            experiment.experiment,
            "only one end is given" if any(ends) else "no ends are given",
            "name a good and a bad revision",
        )
    place = Path(os.fspath(tree or module or "")).expanduser().resolve()
    if not place.is_dir():
        raise PlanError(_ATTEMPT, str(place), "there is no such folder", "name a folder in a Git repository")
    repository = Path(
        ask_git(_ATTEMPT, place, "rev-parse", "--show-toplevel", hint="name a folder in a Git repository").strip()
    )
    history = Commits(repository, *ends)
    if tree is not None:
        return _KernelSteps(
            settings, history, named_kernels.Source("revision", str(repository)), config, _key(str(repository), *config)
        )
    if config:
        raise PlanError(_ATTEMPT, str(place), "a module has no lines of configuration", "leave them out")
    entries = entries_of(plain_data(experiment).get("modules", []))
    places = [number for number, entry in enumerate(entries) if Path(entry.place).resolve() == place]
    if not places:
        what = f"the experiment {experiment.experiment} has no such entry in `modules`"
        raise PlanError(_ATTEMPT, str(place), what, "name one of its folders")
    return _ModuleSteps(history, place, entries, places[0], _key(str(place)))


class StepSource(ABC):
    """The steps, and the experiment at each."""

    def __init__(self, history: History, key: str) -> None:
        self.history, self.key = history, key

    @contextmanager
    def held(self, settings: Settings) -> Iterator[None]:
        """The lock of this source's kernel and of its bisects."""
        folder = settings.home / "bisects"
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with locked(folder / f".{self.key}.lock", wait=False):
                yield
        except BlockingIOError:
            raise PlanError(
                _ATTEMPT, self.key, "another bisect of this source is running", "wait until it has ended"
            ) from None

    @abstractmethod
    def changes(self, step: str, scratch: Path) -> Mapping[str, Any]:
        """The fields of the experiment at a step; LonghaulError if the step cannot be built."""


class _KernelSteps(StepSource):
    """A kernel at each step."""

    def __init__(
        self,
        settings: Settings,
        history: Commits | Patches,
        source: named_kernels.Source,
        config: Sequence[str],
        key: str,
    ) -> None:
        super().__init__(history, key)
        self._settings, self._source, self._config = settings, source, config
        self._name = f"bisect-{key}"

    @contextmanager
    def held(self, settings: Settings) -> Iterator[None]:
        """The same; at the end the kernel's name is gone, and its build tree is there for the next bisect."""
        with super().held(settings):
            try:
                yield
            finally:
                if self._name in named_kernels.names(settings):
                    build_trees.remove(settings, self._name, tree=False)

    def changes(self, step: str, scratch: Path) -> Mapping[str, Any]:
        """The kernel's name, after it is built."""
        if isinstance(self.history, Patches):
            source, patches = self._source, self.history.files[: int(step)]
        else:
            source, patches = replace(self._source, revision=step), []
        named_kernels.add(self._settings, self._name, source, patches, self._config, taken=known_kernels(), again=True)
        build_trees.build(self._settings, self._name)
        return {"kernel": self._name}


class _ModuleSteps(StepSource):
    """A user's module at each step."""

    def __init__(self, history: Commits, folder: Path, entries: Sequence[Entry], place: int, key: str) -> None:
        super().__init__(history, key)
        self._commits, self._entries, self._place = history, entries, place
        self._folder = os.path.relpath(folder.resolve(), history.repository.resolve())

    def changes(self, step: str, scratch: Path) -> Mapping[str, Any]:
        """The experiment's modules with the folder at that commit."""
        target = scratch / "module"
        unpack_folder(self._commits.repository, step, "" if self._folder == "." else self._folder, target)
        places = [str(target) if number == self._place else entry.place for number, entry in enumerate(self._entries)]
        entries = [entry.at(place) for entry, place in zip(self._entries, places, strict=True)]
        return {"modules": entries}


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise PlanError(_ATTEMPT, str(file), error.strerror or str(error), "name a file of a patch") from error


def _key(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
