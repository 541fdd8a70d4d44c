"""Trees of kernel sources, wherever they come from, as Git's trees in one repository of the cache.

    <cache>/sources/linux.git               the trees: of folders, revisions, archives, and those that patches make of them
    lay_out(tree, folder)                   the files of a tree; only files that differ from the last tree there are written

The name of a tree is Git's hash of its content. Neither a folder nor a repository of the user is changed: folders are read through an
index of the cache's own, as Git reads a work tree (without files that the tree's .gitignore names), and revisions are fetched.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from longhaul.orchestrator.kernels.archives import NO_SPACE, Unpack, full_disk, unpack_archive
from longhaul.orchestrator.kernels.patch_messages import offsets_of, reject_of
from longhaul.orchestrator.kernels.tree_rules import check_entries
from longhaul.orchestrator.system.errors import BackendError, BackendUnavailable, PlanError, remedy
from longhaul.orchestrator.system.files import file_sha256
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.locks import locked, locked_folder
from longhaul.orchestrator.system.process import Ended, run_program

# Git must not read the user's configuration: it can name programs, and change the content of files.
_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file:git:http:https:ssh",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_OPTIONS = ("-c", "core.excludesFile=", "-c", "core.attributesFile=", "-c", "gc.auto=0", "-c", "maintenance.auto=false")
# A first import is one pack instead of some 80,000 files.
_AT_FIRST = ("-c", "core.bigFileThreshold=1", "-c", "core.compression=1")
# All files that are no outputs of a build. Debian's .gitignore names everything at the top, so that level has a list of its own.
_SOURCES = (
    "-z", "--others", "--modified", "--deleted", "--exclude-standard", "--exclude=!/*", "--exclude=/.*",
    *(f"--exclude=/{name}" for name in ("*.[ao]", "*.patch", "*.orig", "*.rej", "linux", "vmlinux*", "System.map", "Module.symvers", "modules.*", "tags", "TAGS", "debian/")),
)  # fmt: skip
_ALL = 10**6
_JUST_MADE_S = 60
_REVISION = re.compile(r"[A-Za-z0-9_][\w./@{}^~+-]{0,199}")
_RELEASE = re.compile(r"\d{1,4}(\.\d{1,5}){1,2}[\w.+~-]{0,40}", re.ASCII)
_VERSION = re.compile(r"^(VERSION|PATCHLEVEL|SUBLEVEL|EXTRAVERSION)\s*=\s*(\S*)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Revision:
    """A commit, its tree and its subject."""

    commit: str
    tree: str
    subject: str


@dataclass(frozen=True, slots=True)
class Applied:
    """A tree after a patch, and the hunks that were found at other lines than the patch says, in words."""

    tree: str
    offsets: tuple[str, ...]


# The sandbox's patches are for many releases, so of three lines around a change one must fit, as with patch(1). Some hunks have none.
_AS_PATCH = ("-C1", "--unidiff-zero")


class SourceTrees:
    """The trees of a cache."""

    def __init__(self, cache: Path) -> None:
        self._folder = cache / "sources"
        self._store = self._folder / "linux.git"

    def read_folder(self, folder: Path) -> str:
        """The tree of a folder as it is now, also with changes that are not committed; PlanError if it changes meanwhile."""
        attempting = "reading the kernel's sources in"
        if not folder.is_dir():
            raise PlanError(attempting, str(folder), "there is no such folder", "name the top of a tree of Linux")
        index = self._index(str(folder.resolve()))
        with locked(index.with_suffix(".held")):
            first = () if index.is_file() else _AT_FIRST
            environment = {"GIT_INDEX_FILE": str(index), "GIT_WORK_TREE": str(folder)}
            trees = []
            # The second time only files whose time has changed are read.
            for options in (first, ()):
                listed = self._git(attempting, folder, "ls-files", *_SOURCES, environment=environment, cwd=folder)
                words = [*options, "update-index", "--add", "--remove", "-z", "--stdin"]
                self._git(attempting, folder, *words, environment=environment, cwd=folder, question=listed)
                trees.append(self._git(attempting, folder, "write-tree", environment=environment).strip())
        if trees[0] != trees[1]:
            raise PlanError(
                attempting, str(folder), "it changed while it was read", "run the same command again when it is at rest"
            )
        self._check_linux(trees[1], attempting, str(folder))
        return trees[1]

    def read_archive(self, archive: Path, sha256: str = "", unpack: Unpack = unpack_archive) -> tuple[str, str]:
        """(the tree of an archive, its SHA-256); PlanError if it is another one."""
        attempting = "reading the kernel's sources in"
        try:
            found = file_sha256(archive)
        except OSError as error:
            raise PlanError(
                attempting, str(archive), error.strerror or str(error), "name a tar archive of Linux"
            ) from error
        if sha256 and found != sha256.lower():
            raise PlanError(attempting, archive.name, f"its SHA-256 is {found}", f"requested: {sha256}")
        if tree := self.archive(found):
            return tree, found
        with self._scratch() as scratch:
            unpacked = scratch / "tree"
            unpacked.mkdir()
            unpack(archive, unpacked)
            tree = self.read_folder(unpacked)
            self._index(str(unpacked.resolve())).unlink(missing_ok=True)
        self._set_ref(f"archives/{found}", tree)
        return tree, found

    def archive(self, sha256: str) -> str:
        """The tree of an archive that was read before; empty if none was."""
        return self._ref(f"archives/{sha256}")

    def read_revision(self, repository: str, revision: str) -> Revision:
        """A revision of a repository: a folder or an address of Git."""
        attempting = f"reading revision {revision} of"
        if not _REVISION.fullmatch(revision):
            raise PlanError(attempting, repository, "that is no name of a revision", "name a commit, a tag or a branch")
        if repository.startswith("-"):
            raise PlanError(
                attempting, repository, "that is neither a folder nor an address", "name a folder or an address"
            )
        local = Path(repository).expanduser()
        if local.is_dir():
            # Every way to name a revision, as in HEAD~3, is known there only.
            words = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
            commit = ask_git(
                attempting, local, *words, what="it has no such revision", hint="see `git log` there"
            ).strip()
            repository = str(local.resolve())
        else:
            commit = revision
        with locked(self._made() / ".fetch.lock"):
            words = ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head", "--end-of-options"]
            self._git(attempting, repository, *words, repository, f"+{commit}:refs/longhaul/fetched")
            found = self._git(attempting, repository, "log", "-1", "--format=%H%n%T%n%s", "refs/longhaul/fetched")
        commit, tree, subject = found.splitlines()[:3]
        self._set_ref(f"commits/{commit}", commit)
        self._check_linux(tree, attempting, repository)
        return Revision(commit, tree, subject)

    def apply(self, tree: str, patch: Path, *, ours: bool = False, longest_s: float | None = None) -> Applied:
        """The tree after a patch; PlanError with the file and the hunk that does not apply. `ours` fit as in build.sh: see _AS_PATCH.

        Git compares a hunk with every line of its file: a hostile one takes hours, unless `longest_s` ends it.
        """
        attempting = "applying the patch"
        with self._scratch() as scratch:
            environment = {"GIT_INDEX_FILE": str(scratch / "index")}
            self._git(attempting, patch.name, "read-tree", tree, environment=environment)
            words = [
                "apply",
                "--cached",
                "--verbose",
                *(_AS_PATCH if ours else []),
                "--",
                str(patch.resolve()),
            ]
            try:
                done = self._run(*words, environment=environment, longest_s=longest_s)
            except TimeoutError:
                what = "it was not applied in the time that the patches of a kernel may take"
                raise PlanError(attempting, patch.name, what, "make its hunks smaller") from None
            if NO_SPACE.encode() in done.stderr:
                raise full_disk(attempting, patch.name)
            if done.returncode:
                raise PlanError(
                    attempting,
                    patch.name,
                    reject_of(done.stderr.decode(errors="replace"), patch),
                    "make it for this source, as `git diff` or `git format-patch` writes it",
                )
            after = self._git(attempting, patch.name, "write-tree", environment=environment).strip()
        return Applied(after, tuple(offsets_of(done.stderr.decode(errors="replace"))))

    def check_entries(self, tree: str, attempting: str, subject: str, most_bytes: int) -> None:
        """Check the files and links of a tree that an admin sent (tree_rules.py)."""
        listing = self._git(attempting, subject, "ls-tree", "-r", "-l", "-z", tree)

        def target_of(link: str) -> str:
            return self._git(attempting, subject, "cat-file", "blob", link)

        check_entries(listing, target_of, attempting, subject, most_bytes)

    def diff(self, before: str, after: str, *options: str) -> str:
        """The difference between two trees, as `git diff` prints it."""
        return self._git(
            "comparing",
            f"{before[:12]} and {after[:12]}",
            "diff",
            "--no-color",
            "--no-ext-diff",
            *options,
            before,
            after,
        )

    def release(self, tree: str) -> str:
        """The version of Linux that a tree's Makefile names, as in 6.12.57."""
        words: dict[str, str] = dict(
            _VERSION.findall(
                self._git("reading", f"the Makefile of {tree[:12]}", "cat-file", "blob", f"{tree}:Makefile")
            )
        )
        numbers = [words.get(name, "") for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL")]
        found = ".".join(number for number in numbers if number) + words.get("EXTRAVERSION", "")
        if not _RELEASE.fullmatch(found):
            what = "its Makefile names no version of Linux"
            raise PlanError("reading the kernel's sources in", f"tree {tree[:12]}", what, "name a tree of Linux")
        return found

    def keep(self, name: str, tree: str) -> None:
        """Keep a tree under a name, for as long as the cache exists."""
        self._set_ref(f"kernels/{name}", tree)

    def distance(self, before: str, after: str) -> int:
        """The number of files that differ between two trees; a tree that is gone differs in all."""
        done = self._run("diff-tree", "-r", "--no-renames", "--name-only", before, after)
        return len(done.stdout.splitlines()) if not done.returncode else _ALL

    def lay_out(self, tree: str, place: Path) -> int:
        """Make `place`/tree the files of this tree, and nothing else of those of the last one; the number of files that were written."""
        attempting = "laying out the kernel's sources in"
        known, folder = place / "content", place / "tree"
        last = known.read_text().strip() if known.is_file() and folder.is_dir() else ""
        try:
            if last == tree:
                return 0
            known.unlink(missing_ok=True)
            if not last:
                shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
            with self._scratch() as scratch:
                environment = {"GIT_INDEX_FILE": str(scratch / "index"), "GIT_WORK_TREE": str(folder)}
                self._git(attempting, folder, "read-tree", tree, environment=environment)
                changed = self._changed(last, tree) if last else None
                words = ["checkout-index", "--force", "--quiet", f"--prefix={folder}/"]
                if changed is None:
                    self._git(attempting, folder, *words, "--all", environment=environment)
                else:
                    for path in (path for status, path in changed if status == "D"):
                        (folder / path).unlink(missing_ok=True)
                    written = "\0".join(path for status, path in changed if status != "D")
                    self._git(attempting, folder, *words, "-z", "--stdin", environment=environment, question=written)
            known.write_text(tree)
        except OSError as error:
            hint = remedy(error, "set LONGHAUL_CACHE to another folder")
            raise BackendError(attempting, str(folder), error.strerror or str(error), hint) from error
        return len(changed) if changed is not None else -1

    def _changed(self, before: str, after: str) -> list[tuple[str, str]]:
        words = ["diff-tree", "-r", "-z", "--no-renames", "--name-status", before, after]
        found = self._git("comparing", f"{before[:12]} and {after[:12]}", *words).split("\0")[:-1]
        return list(zip(found[::2], found[1::2], strict=True))

    def _check_linux(self, tree: str, attempting: str, subject: str) -> None:
        done = self._run("ls-tree", "--name-only", tree, "--", "Makefile", "Kconfig", "arch/um/Kconfig")
        if len(done.stdout.split()) < 3:
            what = "it has no Makefile, Kconfig or arch/um/Kconfig"
            raise PlanError(attempting, subject, what, "name the top of a tree of Linux, with User-Mode Linux in it")

    def _made(self) -> Path:
        if not (self._store / "HEAD").is_file():
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                hint = remedy(error, "set LONGHAUL_CACHE to another folder")
                raise BackendError("creating", str(self._folder), error.strerror or str(error), hint) from error
            self._git("creating", self._store, "init", "--quiet", "--bare", str(self._store), made=False)
        return self._folder

    def _index(self, name: str) -> Path:
        folder = self._made() / "indexes"
        folder.mkdir(exist_ok=True)
        return folder / hashlib.sha256(name.encode()).hexdigest()[:32]

    @contextlib.contextmanager
    def _scratch(self) -> Iterator[Path]:
        """A folder of this process alone, which holds its lock; one without a holder was left by a process that was killed."""
        for left in self._made().glob(".new-*"):
            with contextlib.suppress(OSError):
                # One that is just being made has no holder yet.
                if time.time() - left.stat().st_mtime > _JUST_MADE_S:
                    with locked_folder(left):
                        shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=self._folder, prefix=".new-") as folder, locked_folder(Path(folder)):
            yield Path(folder)

    def _ref(self, name: str) -> str:
        done = self._run("rev-parse", "--verify", "--quiet", f"refs/longhaul/{name}")
        return done.stdout.decode().strip() if not done.returncode else ""

    def _set_ref(self, name: str, value: str) -> None:
        self._git("keeping", value, "update-ref", f"refs/longhaul/{name}", value)

    def _git(
        self,
        attempting: str,
        subject: object,
        *words: str,
        environment: Mapping[str, str] | None = None,
        question: str = "",
        cwd: Path | None = None,
        made: bool = True,
    ) -> str:
        if made:
            self._made()
        done = self._run(*words, environment=environment, question=question, cwd=cwd)
        if done.returncode:
            if NO_SPACE.encode() in done.stderr:
                raise full_disk(attempting, str(subject))
            what = _last_line(done.stderr) or f"git ended with {done.returncode}"
            raise BackendError(attempting, str(subject), what, "its sentence is git's")
        return done.stdout.decode(errors="surrogateescape")

    def _run(
        self,
        *words: str,
        environment: Mapping[str, str] | None = None,
        question: str = "",
        cwd: Path | None = None,
        longest_s: float | None = None,
    ) -> Ended:
        place = ["--git-dir", str(self._store.resolve())]
        return _run_git([*_OPTIONS, *place, *words], environment, question, cwd, longest_s)


def ask_git(attempting: str, repository: Path, *words: str, what: str = "", hint: str) -> str:
    """The output of Git about a repository of the user, which stays as it is; PlanError with its sentence, or with `what`."""
    done = _run_git(["-C", str(repository), *words])
    if done.returncode:
        raise PlanError(
            attempting, str(repository), what or _last_line(done.stderr) or f"git ended with {done.returncode}", hint
        )
    return done.stdout.decode(errors="replace")


def unpack_folder(repository: Path, commit: str, folder: str, target: Path) -> None:
    """Write a folder of a commit of the user's repository to `target`; PlanError if the commit has none."""
    done = _run_git(["-C", str(repository), "archive", "--format=tar", f"{commit}:{folder}"])
    if done.returncode:
        what = f"it has no folder {folder or '.'}"
        raise PlanError("reading the module at", commit[:12], what, "name a later commit as the good end")
    target.mkdir(parents=True)
    run_program(["tar", "--extract", "--directory", str(target)], question=done.stdout).check_returncode()


def _run_git(
    words: Sequence[str],
    environment: Mapping[str, str] | None = None,
    question: str = "",
    folder: Path | None = None,
    longest_s: float | None = None,
) -> Ended:
    given = question.encode(errors="surrogateescape")
    try:
        return run_program(
            ["git", *words],
            environment={**_ENVIRONMENT, **(environment or {})},
            without="GIT_",
            question=given,
            folder=folder,
            longest_s=longest_s,
        )
    except TimeoutError:
        raise
    except OSError as error:
        raise BackendUnavailable("kernels of your own", [("git", "run apt-get install git")]) from error


def _last_line(messages: bytes) -> str:
    lines = [line for line in messages.decode(errors="replace").splitlines() if line.strip()]
    for start in ("fatal: ", "error: "):
        for line in lines:
            if line.startswith(start):
                return line.removeprefix(start).strip()
    return lines[-1].strip() if lines else ""
