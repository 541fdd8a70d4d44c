"""Bisects of commits and patches: every position of the change is found in about log2 steps, also past steps that cannot be judged."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from longhaul.orchestrator.kernels.histories import Commits, History, Patches, Verdict
from longhaul.orchestrator.system.errors import PlanError
from tests.support.small_linux import commit, git


def found(history: History, bad: frozenset[str], skipped: frozenset[str] = frozenset()) -> tuple[list[str], int]:
    """The last suspects, and how many steps were judged."""
    verdicts: dict[str, Verdict] = {history.good: "good", history.bad: "bad"}
    while (step := history.middle(verdicts)) is not None:
        assert step not in verdicts
        verdicts[step] = "skipped" if step in skipped else "bad" if step in bad else "good"
    return history.suspects(verdicts), len(verdicts) - 2


def test_every_patch_of_a_series_is_found() -> None:
    for count in (1, 2, 3, 7, 64):
        history = Patches([Path(f"{number:04d}.patch") for number in range(1, count + 1)])
        for first in range(1, count + 1):
            bad = frozenset(str(number) for number in range(first, count + 1))
            suspects, judged = found(history, bad)
            assert suspects == [str(first)]
            assert judged <= math.ceil(math.log2(count))
    assert history.describe("3") == "0003.patch"
    assert history.describe("0") == "no patch"


def test_steps_that_cannot_be_judged_are_passed_by() -> None:
    history = Patches([Path(f"{number}.patch") for number in range(1, 17)])
    bad = frozenset(str(number) for number in range(9, 17))
    assert found(history, bad, frozenset({"7", "12"}))[0] == ["9"]
    assert found(history, bad, frozenset({"8"}))[0] == ["9", "8"]
    assert found(history, bad, frozenset(str(number) for number in range(1, 16)))[0] == [
        str(number) for number in range(16, 0, -1)
    ]


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A line of commits with a merged branch: 0 1 2 3 4 5 6(merge of 8 9) 7, as [0..7, 8, 9]."""
    folder = tmp_path_factory.mktemp("repository")
    commits = [commit(folder, f"commit {number}") for number in range(4)]
    git(folder, "checkout", "--quiet", "-b", "side", commits[2])
    side = [commit(folder, f"commit {number}") for number in (8, 9)]
    git(folder, "checkout", "--quiet", "main")
    commits += [commit(folder, f"commit {number}") for number in (4, 5)]
    git(folder, "merge", "--quiet", "--no-ff", "--message", "commit 6", "side")
    commits += [git(folder, "rev-parse", "HEAD"), commit(folder, "commit 7")]
    return folder, commits + side


@pytest.mark.parametrize(
    ("first", "bad"), [(1, range(1, 10)), (4, (4, 5, 6, 7)), (6, (6, 7)), (7, (7,)), (8, (6, 7, 8, 9)), (9, (6, 7, 9))]
)
def test_every_commit_is_found_also_on_a_merged_branch(
    first: int, bad: range, repository: tuple[Path, list[str]]
) -> None:
    folder, commits = repository
    history = Commits(folder, commits[0], "main")
    suspects, judged = found(history, frozenset(commits[number] for number in bad))
    assert suspects == [commits[first]]
    assert judged <= 4
    assert history.describe(commits[first]) == f"{commits[first][:12]} commit {first}"


def test_ends_that_are_none_are_refused(repository: tuple[Path, list[str]]) -> None:
    folder, commits = repository
    for good, bad, what in (
        ("main", "main", "are the same commit; name two"),
        ("main", commits[1], "exchange --good and --bad"),
        (commits[4], "side", f"is not an ancestor of side; name {commits[2][:12]}"),
        ("nothing", "main", "it has no revision nothing"),
        ("--all", "main", "it has no revision --all"),
    ):
        with pytest.raises(PlanError, match=what):
            Commits(folder, good, bad)
