"""Builds of kernels that admins sent to the service: confined, since compiling Linux executes the programs of its source tree.

    <cache>/kernels/sent-builds/<name>/     tree/ and its configuration during a build, deleted at its end

A build begins with a copy of the most similar build tree of this machine's own kernels, which no sent source has ever written. Only plain
files, folders and links within the result are taken from it; its manifest is written here, with `sent`, so that guests of
the kernel run confined, too (backends/fence.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from longhaul.orchestrator.kernels import build_trees
from longhaul.orchestrator.kernels.archives import NO_SPACE, full_disk
from longhaul.orchestrator.kernels.confined_modules import first_error
from longhaul.orchestrator.kernels.named_kernels import NamedKernel, find
from longhaul.orchestrator.kernels.source_trees import SourceTrees
from longhaul.orchestrator.kernels.tree_rules import leaves
from longhaul.orchestrator.modules.build import PERL
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import BackendError, DiskFull, PlanError, TooLarge
from longhaul.orchestrator.system.files import file_sha256
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.process import Answer, printable, run_watched
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.untrusted_folder import check_size, discard, hand_over

# Called with the step of a build, at intervals; it ends the build by raising.
OnStep = Callable[[str], None]

_BUILDING = "building the sandbox kernel"
# What programs of the build read besides the system's folders: Kconfig's parser is made by bison, some tables by Perl.
_DATA = (*PERL, Path("/usr/share/bison"))
_SCRATCH_BYTES = 1 << 30
_FILE_BYTES = 2 << 30
_MEMORY_BYTES = 4 << 30
_PROCESSES = 512
_MOST_LOG_BYTES = 1 << 18
_MOST_FILES = 200_000
# Of the manifest, and of the configuration.
_MOST_TEXT_BYTES = 1 << 20
# Of the kernel, and of a module; they are read whole.
_MOST_PROGRAM_BYTES = 256 << 20
# A look at some 90,000 files takes half a second; a build that fills the disk quickly is looked at more often.
_LOOK_EVERY_S = 15.0
_LOOK_EVERY_BYTES = 1 << 30
# A disk with less is full: make deletes what it could not finish.
_FULL_BYTES = 64 << 20
_OBJECTS = re.compile(r": +(\d+) of about \d+ objects")
_RELEASE = re.compile(r"\d[\w.+~-]{0,63}", re.ASCII)
_DROPPED = "building the sandbox kernel "


def build(settings: Settings, name: str, on_step: OnStep = lambda step: None) -> Path:
    """The folder of a sent kernel in the cache, compiled if it is missing, and made the one that runs use."""
    build_trees.check_place(settings.cache, _BUILDING, name)
    trees = SourceTrees(settings.cache)
    with build_trees.held(settings, name):
        kernel = find(settings, name)
        work = work_folder(settings) / name
        # Left by a build that was killed.
        discard(work)
        try:
            folder = _compile(settings, trees, kernel, work, on_step)
        except BackendError as error:
            # Git and cp have sentences of their own for it.
            if shutil.disk_usage(settings.cache).free < _FULL_BYTES:
                raise full_disk(_BUILDING, name) from error
            raise
        finally:
            discard(work)
        build_trees.write(settings, replace(kernel, hash=folder.name))
        if kernel.hash not in ("", folder.name):
            build_trees.drop_headers(settings, kernel.hash)
    return folder


def work_folder(settings: Settings) -> Path:
    """The folder of builds that are running."""
    return settings.cache / "kernels" / "sent-builds"


def require_space(settings: Settings, attempting: str, subject: str) -> None:
    """DiskFull if a kernel of the largest size that is allowed would not fit."""
    settings.cache.mkdir(parents=True, exist_ok=True)
    free_mb = shutil.disk_usage(settings.cache).free // 2**20
    if free_mb < settings.kernel_build_mb:
        what = f"{free_mb} MiB are free, and {settings.kernel_build_mb} MiB are needed (LONGHAUL_KERNEL_BUILD_MB)"
        raise DiskFull(attempting, subject, what, "free some space, or set LONGHAUL_CACHE to another folder")


def _compile(settings: Settings, trees: SourceTrees, kernel: NamedKernel, work: Path, on_step: OnStep) -> Path:
    on_step("applying the sandbox's patches")
    sandboxed, absent = build_trees.apply_ours(trees, kernel)
    work.mkdir(parents=True)
    fragments, profile = build_trees.inputs(kernel, work)
    name = build_trees.kernel_hash(sandboxed, fragments, profile)
    target = settings.cache / "kernels" / name
    made = not (target / "manifest.json").is_file()
    if made:
        require_space(settings, _BUILDING, kernel.name)
        on_step("copying the most similar build tree")
        build_trees.copy_nearest(settings, trees, sandboxed, work)
        on_step("laying out the source")
        trees.lay_out(sandboxed, work)
        fragments, profile = build_trees.inputs(kernel, work)
        shutil.rmtree(work / "out", ignore_errors=True)
        hand_over(work)
        _run(settings, kernel.name, name, work, fragments, profile, on_step)
        on_step("checking the result")
        manifest = _checked(work / "out", kernel, name, settings.kernel_build_mb * 2**20)
        manifest |= {"parts": kernel.parts(absent), "sent": True}
        (work / "out" / "manifest.json").write_text(json.dumps(manifest) + "\n")
        try:
            (work / "out").rename(target)
        except OSError:
            # Another name has the same content, and was quicker.
            if not (target / "manifest.json").is_file():
                raise
    try:
        on_step("building the modules")
        build_trees.make_current(settings, kernel.name, name)
    except BaseException:
        used = {link.resolve().name for link in (settings.cache / "kernels").glob("current-*")}
        if made and name not in used:
            shutil.rmtree(target, ignore_errors=True)
        raise
    return target


def _run(
    settings: Settings, name: str, hashed: str, work: Path, fragments: Sequence[Path], profile: Path, on_step: OnStep
) -> None:
    def inside(file: Path) -> str:
        return str(Path("/kmod") / file.relative_to(KMOD)) if file.is_relative_to(KMOD) else f"/build/{file.name}"

    view = View(
        reads={"/kmod": KMOD, **{str(place): place for place in _DATA if place.is_dir()}},
        writes={"/build": work},
        scratch={"/tmp": _SCRATCH_BYTES},  # noqa: S108 (its own)
        environment={
            "PATH": "/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "HOME": "/tmp",  # noqa: S108 (its own)
            "LONGHAUL_KEEP_TREE": "yes",
            "PROFILE": inside(profile) if profile.is_file() else "",
        },
        folder="/build",
    )
    limits = Limits(settings.kernel_build_s, _FILE_BYTES, _PROCESSES, _MEMORY_BYTES)
    words = ["/bin/bash", "/kmod/sandbox/compile.sh", "/build/tree", "/build/out", name, hashed]
    command = confined([*words, *map(inside, fragments)], view, limits, settings)
    most_bytes = settings.kernel_build_mb * 2**20
    next_look_s = next_look_free = 0.0

    def look(text: str) -> None:
        nonlocal next_look_s, next_look_free
        found = _OBJECTS.findall(text)
        on_step(f"compiling: {found[-1]} objects are done" if found else "compiling")
        free = shutil.disk_usage(work).free
        if time.monotonic() >= next_look_s or free <= next_look_free:
            try:
                check_size(work, most_bytes, name)
            except BackendError:
                what = f"its build takes more than {most_bytes // 2**20} MiB of the disk (LONGHAUL_KERNEL_BUILD_MB)"
                raise TooLarge(_BUILDING, name, what, "build less, or ask the lab's operator for more") from None
            next_look_s, next_look_free = time.monotonic() + _LOOK_EVERY_S, free - _LOOK_EVERY_BYTES

    # Experiments go first.
    answer = run_watched(
        ["/usr/bin/nice", "-n", "10", *command],
        longest_s=settings.kernel_build_s,
        most_bytes=_MOST_LOG_BYTES,
        look=look,
        every_s=1.0,
    )
    if answer.output is None:
        # Messages of the compiler are on this disk too, and may be missing.
        if NO_SPACE in answer.messages or shutil.disk_usage(work).free < _FULL_BYTES:
            raise full_disk(_BUILDING, name)
        what = first_error(answer).removeprefix(f"{_DROPPED}{name}: ")
        if what.startswith("make"):
            what = _mistake(work / "log") or what
        raise PlanError(_BUILDING, name, what, _hint(answer))


def _mistake(log: Path) -> str:
    """The line of a build's log that says why it failed, as Kconfig prints one; "" if there is none."""
    try:
        with open(os.open(log, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            text = printable(file.read(_MOST_LOG_BYTES)) if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else ""
    except OSError:
        return ""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("make")]
    return next((line for line in lines if "error" in line), lines[-1] if lines else "")[:300]


def _hint(answer: Answer) -> str:
    if "it was not done after" in answer.problem:
        return "the lab's operator can allow more time with LONGHAUL_KERNEL_BUILD_S"
    return "repair the patches, the source or the configuration, and send the kernel again"


def _checked(out: Path, kernel: NamedKernel, hashed: str, most_bytes: int) -> dict[str, Any]:
    """The manifest of a result that has nothing but plain files, folders and links within it; all is owned by this user then."""

    def refused(what: str) -> PlanError:
        return PlanError(_BUILDING, kernel.name, f"the result of its build {what}", "repair its source")

    if out.is_symlink() or not out.is_dir():
        raise refused("is missing")
    total = count = 0
    waiting = [out]
    while waiting:
        path = waiting.pop()
        about, name = path.lstat(), str(path.relative_to(out))
        total, count = total + about.st_size, count + 1
        if total > most_bytes or count > _MOST_FILES:
            raise refused(f"is larger than {most_bytes // 2**20} MiB or {_MOST_FILES} files")
        if os.geteuid() == 0:
            os.chown(path, os.geteuid(), os.getegid(), follow_symlinks=False)
        if stat.S_ISLNK(about.st_mode):
            if not name.startswith("tree/") or leaves(name, str(path.readlink())):
                raise refused(f"has the link {ascii(name)[1:-1]}, which leads out of it")
        elif stat.S_ISDIR(about.st_mode):
            path.chmod(0o755)
            waiting += [Path(entry.path) for entry in os.scandir(path)]
        elif stat.S_ISREG(about.st_mode) and about.st_nlink == 1:
            path.chmod(0o755 if about.st_mode & 0o100 else 0o644)
        else:
            raise refused(f"has {ascii(name)[1:-1]}, which is no plain file")
    try:
        release = json.loads(_read(out / "manifest.json"))["kernelrelease"]
        _read(out / "config")
        files = [out / "linux", out / "config", *sorted((out / "modules").glob("*.ko"))]
        hashes = {}
        for file in files:
            if file.stat().st_size > _MOST_PROGRAM_BYTES:
                raise ValueError(f"{file.name} is too large")
            hashes[str(file.relative_to(out))] = file_sha256(file)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise refused("is not complete, or its files are too large") from error
    if not isinstance(release, str) or not _RELEASE.fullmatch(release):
        raise refused("has no name of a release")
    return {"version": kernel.name, "kernelrelease": release, "hash": hashed, "files": hashes}


def _read(file: Path) -> str:
    """A small file of text; ValueError for another."""
    if file.lstat().st_size > _MOST_TEXT_BYTES:
        raise ValueError(f"{file.name} is too large")
    return file.read_text()
