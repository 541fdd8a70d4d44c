"""Trees of kernel sources: what is read from folders, archives and repositories, how patches fail, and which files are written."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from longhaul.orchestrator.kernels.source_trees import SourceTrees
from longhaul.orchestrator.system.errors import BackendError, PlanError
from tests.support.programs import run_program
from tests.support.small_linux import FILES, commit, write_linux

CUBIC = "net/ipv4/tcp_cubic.c"


@pytest.fixture
def trees(tmp_path: Path) -> SourceTrees:
    return SourceTrees(tmp_path / "cache")


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    return write_linux(tmp_path / "a linux")


def laid_out(trees: SourceTrees, tree: str, place: Path) -> Mapping[str, str]:
    trees.lay_out(tree, place)
    folder = place / "tree"
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def patch_of(tmp_path: Path, before: str, after: str, name: str = CUBIC, at: int = 1) -> Path:
    """A patch of one line, with the lines around it."""
    lines = FILES[name].splitlines()
    place = lines.index(before)
    first, last = max(0, place - 3), min(len(lines), place + 4)
    hunk = (
        [f" {line}" for line in lines[first:place]]
        + [f"-{before}", f"+{after}"]
        + [f" {line}" for line in lines[place + 1 : last]]
    )
    head = f"--- a/{name}\n+++ b/{name}\n@@ -{first + at},{last - first} +{first + at},{last - first} @@\n"
    file = tmp_path / "own.patch"
    file.write_text(head + "\n".join(hunk) + "\n")
    return file


def test_a_folder_is_read_with_its_changes_and_without_outputs_of_a_build(
    trees: SourceTrees, linux: Path, tmp_path: Path
) -> None:
    # Debian's names everything at the top.
    (linux / ".gitignore").write_text("*.o\n.*\n/*\n!/debian/\n")
    for name in ("vmlinux", ".config", "net/ipv4/tcp_cubic.o", "Module.symvers", "own.patch"):
        (linux / name).write_text("made by make\n")
    first = trees.read_folder(linux)
    assert laid_out(trees, first, tmp_path / "place") == FILES
    (linux / CUBIC).write_text("changed\n")
    (linux / "net/ipv4/tcp_new.c").write_text("new\n")
    (linux / "net/ipv4/tcp_reno.c").unlink()
    second = trees.read_folder(linux)
    changed = {**FILES, CUBIC: "changed\n", "net/ipv4/tcp_new.c": "new\n"}
    del changed["net/ipv4/tcp_reno.c"]
    assert laid_out(trees, second, tmp_path / "place") == changed
    assert trees.distance(first, second) == 3
    assert not (linux / ".git").exists()


def test_only_files_that_differ_are_written(trees: SourceTrees, linux: Path, tmp_path: Path) -> None:
    place = tmp_path / "place"
    trees.lay_out(trees.read_folder(linux), place)
    (place / "tree/made.o").write_text("made by make\n")
    before = {file: file.stat().st_mtime_ns for file in (place / "tree").rglob("*") if file.is_file()}
    (linux / CUBIC).write_text("changed\n")
    assert trees.lay_out(trees.read_folder(linux), place) == 1
    after = {file: file.stat().st_mtime_ns for file in (place / "tree").rglob("*") if file.is_file()}
    assert [file.name for file in before if before[file] != after[file]] == ["tcp_cubic.c"]
    # After a kill in the middle, everything is written again.
    (place / "content").unlink()
    (place / "tree" / CUBIC).write_text("half\n")
    assert laid_out(trees, trees.read_folder(linux), place)[CUBIC] == "changed\n"


def test_equal_sources_are_one_tree_wherever_they_come_from(trees: SourceTrees, linux: Path, tmp_path: Path) -> None:
    archive = tmp_path / "linux.tar.gz"
    with tarfile.open(archive, "w:gz") as members:
        members.add(linux, "linux-6.12")
    revision = commit(linux, "tcp: a subject")
    of_folder = trees.read_folder(linux)
    of_archive, sha256 = trees.read_archive(archive)
    of_revision = trees.read_revision(str(linux), "HEAD")
    assert of_folder == of_archive == of_revision.tree
    assert (of_revision.commit, of_revision.subject) == (revision, "tcp: a subject")
    assert trees.release(of_folder) == "6.12.34-rc1"
    assert trees.read_archive(archive, sha256.upper()) == (of_folder, sha256)
    with pytest.raises(PlanError, match=f"its SHA-256 is {sha256}; requested: 00"):
        trees.read_archive(archive, "00")


def test_a_revision_is_that_of_the_repository_and_not_its_folder(trees: SourceTrees, linux: Path) -> None:
    commit(linux, "first")
    before = trees.read_folder(linux)
    (linux / CUBIC).write_text("changed\n")
    commit(linux, "second")
    (linux / CUBIC).write_text("not committed\n")
    assert trees.read_revision(str(linux), "HEAD~1").tree == before
    assert len({trees.read_revision(str(linux), "HEAD").tree, trees.read_folder(linux), before}) == 3
    # The repository and its folder are as they were.
    status = run_program(["git", "-C", linux, "status", "--short"], check=True).stdout
    assert status == f" M {CUBIC}\n"


def test_patches_apply_with_their_offsets_or_name_the_hunk(trees: SourceTrees, linux: Path, tmp_path: Path) -> None:
    tree = trees.read_folder(linux)
    patch = patch_of(tmp_path, "int beta = 717;", "int beta = 600;", at=3)
    applied = trees.apply(tree, patch)
    assert applied.offsets == (f"hunk 1 of {CUBIC} at line 2, -2 lines from where the patch says",)
    assert "int beta = 600;" in laid_out(trees, applied.tree, tmp_path / "place")[CUBIC]
    with pytest.raises(PlanError, match=f"applying the patch own.patch: hunk 1 of {CUBIC} does not fit, at line 4"):
        trees.apply(applied.tree, patch)
    # The sandbox's patches serve many releases: one fitting line on each side is enough, and some hunks have none.
    other = trees.apply(tree, patch_of(tmp_path, "eight", "another eight")).tree
    patch = patch_of(tmp_path, "int beta = 717;", "int beta = 600;")
    with pytest.raises(PlanError, match="does not fit"):
        trees.apply(other, patch)
    assert "int beta = 600;" in laid_out(trees, trees.apply(other, patch, ours=True).tree, tmp_path / "other")[CUBIC]
    patch.write_text(f"--- a/{CUBIC}\n+++ b/{CUBIC}\n@@ -9 +9 @@\n-int beta = 600;\n+int beta = 500;\n")
    with pytest.raises(PlanError, match="does not fit, at line 9"):
        trees.apply(applied.tree, patch)
    assert trees.apply(applied.tree, patch, ours=True).tree != applied.tree
    patch.write_text("no patch\n")
    with pytest.raises(PlanError, match=r"applying the patch own.patch: "):
        trees.apply(tree, patch)


@pytest.mark.parametrize("missing", ["Makefile", "arch/um/Kconfig"])
def test_other_folders_are_refused(missing: str, trees: SourceTrees, linux: Path, tmp_path: Path) -> None:
    (linux / missing).unlink()
    with pytest.raises(PlanError, match="it has no Makefile, Kconfig or arch/um/Kconfig"):
        trees.read_folder(linux)
    with pytest.raises(PlanError, match="there is no such folder"):
        trees.read_folder(tmp_path / "nowhere")
    (tmp_path / "no.tar").write_text("no archive")
    with pytest.raises(PlanError, match=r"no.tar"):
        trees.read_archive(tmp_path / "no.tar")


@pytest.mark.parametrize(
    ("repository", "revision", "what"),
    [
        ("linux", "no-such", "it has no such revision"),
        ("linux", "--upload-pack=touch x", "that is no name of a revision"),
        ("--upload-pack=touch x", "HEAD", "that is neither a folder nor an address"),
        ("nowhere", "main", "nowhere"),
        ("ext::sh -c x", "main", "ext"),
    ],
)
def test_repositories_and_revisions_that_cannot_be_read(
    repository: str,
    revision: str,
    what: str,
    trees: SourceTrees,
    linux: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    commit(linux, "first")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "linux").symlink_to(linux)
    with pytest.raises((PlanError, BackendError), match=what):
        trees.read_revision(repository, revision)
    assert not (tmp_path / "x").exists()
