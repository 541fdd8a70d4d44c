"""Histories of sources for a bisect: commits of a repository, or a series of patches.

A step is a commit, or the number of patches that are applied. Between a good step and a bad one there are suspects; `middle` is the
suspect that halves them, without those that could not be judged, and one suspect alone is the change that is looked for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, Protocol

from longhaul.orchestrator.kernels.source_trees import ask_git
from longhaul.orchestrator.system.errors import PlanError

Verdict = Literal["good", "bad", "skipped"]
Verdicts = Mapping[str, Verdict]


class History(Protocol):
    """Steps from a good one to a bad one."""

    good: str
    bad: str

    def suspects(self, verdicts: Verdicts) -> list[str]:
        """The steps that can be the first bad one, the last known bad one included."""

    def middle(self, verdicts: Verdicts) -> str | None:
        """The suspect to judge next; None if none is left that could be judged."""

    def parent(self, step: str) -> str:
        """The step before."""

    def describe(self, step: str) -> str:
        """A step in words, as in 1a2b3c4d5e6f tcp: a subject."""


class Commits:
    """The commits of a repository between two revisions."""

    def __init__(self, repository: Path, good: str, bad: str) -> None:
        self.repository = repository
        self.good, self.bad = (self._commit(revision) for revision in (good, bad))
        if self.good == self.bad:
            raise PlanError("bisecting", str(repository), f"{good} and {bad} are the same commit", "name two commits")
        base = self._git("merge-base", self.good, self.bad).strip()
        if base == self.bad:
            raise PlanError("bisecting", str(repository), f"{bad} is before {good}", "exchange --good and --bad")
        if base != self.good:
            what = f"{good} is not an ancestor of {bad}"
            raise PlanError("bisecting", str(repository), what, f"name {base[:12]}, from which both come, as --good")

    def suspects(self, verdicts: Verdicts) -> list[str]:
        """The commits that can be the first bad one."""
        return self._git("rev-list", *self._range(verdicts)).split()

    def middle(self, verdicts: Verdicts) -> str | None:
        """The commit that halves them."""
        lines = self._git("rev-list", "--bisect-all", *self._range(verdicts)).splitlines()
        return next((step for step in (line.split()[0] for line in lines) if step not in verdicts), None)

    def parent(self, step: str) -> str:
        """The first parent."""
        return self._git("rev-parse", "--verify", f"{step}^").strip()

    def describe(self, step: str) -> str:
        """Its name and subject."""
        return self._git("log", "-1", "--format=%h %s", "--abbrev=12", step).strip()

    def _range(self, verdicts: Verdicts) -> list[str]:
        return [
            _last_bad(self, verdicts),
            *(f"^{step}" for step, verdict in verdicts.items() if verdict == "good"),
            f"^{self.good}",
        ]

    def _commit(self, revision: str) -> str:
        hint = "name a commit, a tag or a branch of this repository"
        return self._git(
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{revision}^{{commit}}",
            what=f"it has no revision {revision}",
            hint=hint,
        ).strip()

    def _git(self, *words: str, what: str = "", hint: str = "see `git log` there") -> str:
        return ask_git("bisecting", self.repository, *words, what=what, hint=hint)


class Patches:
    """The numbers of patches of a series that are applied: none is good, all are bad."""

    def __init__(self, files: Sequence[Path]) -> None:
        self.files = files
        self.good, self.bad = "0", str(len(files))

    def suspects(self, verdicts: Verdicts) -> list[str]:
        """The numbers of patches after the last good one."""
        last_good = max([int(step) for step, verdict in verdicts.items() if verdict == "good"] or [0])
        return [str(number) for number in range(int(_last_bad(self, verdicts)), last_good, -1)]

    def middle(self, verdicts: Verdicts) -> str | None:
        """The number that halves them."""
        suspects = self.suspects(verdicts)
        half = len(suspects) / 2
        left = [
            (abs(place - half), step)
            for place, step in enumerate(suspects)
            if step not in verdicts and step != self.bad
        ]
        return min(left)[1] if left else None

    def parent(self, step: str) -> str:
        """One patch less."""
        return str(int(step) - 1)

    def describe(self, step: str) -> str:
        """The name of the patch that was applied last."""
        return self.files[int(step) - 1].name if step != "0" else "no patch"


def _last_bad(history: History, verdicts: Verdicts) -> str:
    """The bad step that was found last: each is a suspect of the one before."""
    return next((step for step, verdict in reversed([*verdicts.items()]) if verdict == "bad"), history.bad)
