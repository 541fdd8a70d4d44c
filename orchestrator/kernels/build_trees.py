"""Build trees: kernels with a name (named_kernels.py) are compiled where they were compiled before, so that an edit of one file compiles that file.

    <cache>/kernels/trees/<name>/     tree/ and its configuration; a new one begins with a copy of the most similar one
    <cache>/kernels/<hash>/           the kernel, known by the hash of its content, and its modules as for every kernel

The sandbox's patches follow the user's. A build of a changed tree gives the same bytes as one of everything.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path

from longhaul.orchestrator.kernels.confined_modules import build_confined_modules
from longhaul.orchestrator.kernels.named_kernels import (
    NamedKernel,
    apply_patches,
    find,
    folder_of_names,
    names,
    read_source,
    row_of,
)
from longhaul.orchestrator.kernels.prebuilt import point
from longhaul.orchestrator.kernels.release_lock import fragments_for, patches_for
from longhaul.orchestrator.kernels.source_trees import SourceTrees
from longhaul.orchestrator.system.built_kernels import is_sent, manifest_of
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.process import ask_program, run_script
from longhaul.orchestrator.system.settings import Settings

_SANDBOX = KMOD / "sandbox"
_BUILDING = "building the sandbox kernel"
# Trees that differ in more files are of other releases: a copy would save nothing.
_MOST_DIFFERING = 20_000


def build(settings: Settings, name: str) -> Path:
    """The folder of a kernel with a name in the cache, compiled if it is missing, and made the one that runs use."""
    kernel = find(settings, name)
    check_place(settings.cache, _BUILDING, name)
    trees = SourceTrees(settings.cache)
    if kernel.source.kind == "folder":
        kernel = _read_again(settings, trees, kernel)
    sandboxed, absent = apply_ours(trees, kernel)
    with held(settings, name):
        folder = _compile(settings, trees, kernel, sandboxed, absent)
        write(settings, replace(kernel, hash=folder.name))
        if kernel.hash not in ("", folder.name):
            drop_headers(settings, kernel.hash)
    return folder


def check_place(cache: Path, attempting: str, name: str) -> None:
    """BackendError if Linux cannot be built in this cache."""
    if " " in str(cache):
        what = f"make cannot build Linux in {cache}, because of the space in its path"
        raise BackendError(attempting, name, what, "set LONGHAUL_CACHE to a folder without spaces")


def remove(settings: Settings, name: str, *, tree: bool = True) -> None:
    """Forget a name, with its build tree unless `tree` is off; kept runs have the kernel itself by its hash."""
    if name not in names(settings):
        find(settings, name)
    with held(settings, name):
        if name not in names(settings):
            # Another process has removed it meanwhile.
            return
        if tree:
            shutil.rmtree(_tree_folder(settings, name), ignore_errors=True)
        settings.kernel(name).unlink(missing_ok=True)
        settings.modules(name).unlink(missing_ok=True)
        shutil.rmtree(folder_of_names(settings) / name)


def _read_again(settings: Settings, trees: SourceTrees, kernel: NamedKernel) -> NamedKernel:
    tree, source = read_source(settings, trees, kernel.source)
    patches = sorted((folder_of_names(settings) / kernel.name / "patches").iterdir())
    tree, applied = apply_patches(trees, tree, patches)
    applied = tuple(replace(after, name=before.name) for before, after in zip(kernel.patches, applied, strict=True))
    found = replace(kernel, source=source, tree=tree, release=trees.release(tree), patches=applied)
    trees.keep(kernel.name, tree)
    return found


def apply_ours(trees: SourceTrees, kernel: NamedKernel) -> tuple[str, list[str]]:
    """The tree with the sandbox's patches, and the names of those that it does without."""
    tree = kernel.tree
    absent: list[str] = []
    for patch, purpose in patches_for(kernel.release):
        try:
            tree = trees.apply(tree, patch, ours=True).tree
        except PlanError:
            if purpose == "truth":
                raise
            absent.append(patch.name)
    return tree, absent


def _compile(settings: Settings, trees: SourceTrees, kernel: NamedKernel, sandboxed: str, absent: list[str]) -> Path:
    place = _tree_folder(settings, kernel.name)
    if not (place / "content").is_file():
        copy_nearest(settings, trees, sandboxed, place)
    fragments, profile = inputs(kernel, place)
    name = kernel_hash(sandboxed, fragments, profile)
    target = settings.cache / "kernels" / name
    if not (target / "manifest.json").is_file():
        trees.lay_out(sandboxed, place)
        out = place / "out"
        shutil.rmtree(out, ignore_errors=True)
        words = [str(_SANDBOX / "compile.sh"), str(place / "tree"), str(out), kernel.name, name, *map(str, fragments)]
        environment = {
            "LONGHAUL_KEEP_TREE": "yes",
            "PROFILE": str(profile) if profile.is_file() else "",
            "COUNTING": "",
        }
        run_script(words, _BUILDING, environment)
        manifest = dict(manifest_of(out))
        manifest["parts"] = kernel.parts(absent)
        (out / "manifest.json").write_text(json.dumps(manifest) + "\n")
        try:
            out.rename(target)
        except OSError:
            # Another name has the same content, and was quicker.
            if not (target / "manifest.json").is_file():
                raise
        _prune(settings, keep=kernel.name)
    make_current(settings, kernel.name, name)
    return target


def inputs(kernel: NamedKernel, place: Path) -> tuple[list[Path], Path]:
    """The fragments of a kernel's configuration, with its own lines as a file of `place`, and its profile, which may not exist."""
    fragments = fragments_for(kernel.release)
    if kernel.source.kind == "version":
        fragments += [_SANDBOX / name for name in row_of(kernel.source.place)[3:]]
    own = place / "own.config"
    own.write_text("".join(f"{line}\n" for line in kernel.config))
    fragments.append(own)
    return fragments, _SANDBOX / f"profile-{_line(kernel.release)}.tar.xz"


def kernel_hash(sandboxed: str, fragments: Sequence[Path], profile: Path) -> str:
    """The name of a kernel: the hash of everything that determines it."""
    attempting = "asking for the version of"
    library = Path(ask_program(["gcc", "-print-file-name=libc.a"], attempting).strip())
    parts: list[str | bytes] = [
        sandboxed,
        ask_program([str(_SANDBOX / "compile.sh"), "--config", *map(str, fragments)], "reading the configuration of"),
        ask_program(["gcc", "--version"], attempting).splitlines()[0],
        hashlib.sha256(library.read_bytes()).hexdigest(),
        (_SANDBOX / "compile.sh").read_bytes(),
        profile.read_bytes() if profile.is_file() else b"",
    ]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode() if isinstance(part, str) else part).digest())
    return digest.hexdigest()[:32]


def drop_headers(settings: Settings, name: str) -> None:
    """Delete what only new modules need, of a kernel that no name has any more: it serves reruns from now on."""
    kernels = settings.cache / "kernels"
    if name not in {link.resolve().name for link in kernels.glob("current-*")}:
        shutil.rmtree(kernels / name / "tree", ignore_errors=True)


def copy_nearest(settings: Settings, trees: SourceTrees, tree: str, place: Path) -> None:
    """Begin with a copy of the most similar build tree, if there is one, so that only the difference is compiled."""
    shutil.rmtree(place, ignore_errors=True)
    others = [
        (trees.distance(file.read_text().strip(), tree), file.parent)
        for file in (settings.cache / "kernels" / "trees").glob("[!.]*/content")
        if file.parent != place
    ]
    for distance, other in sorted(others):
        if distance < _MOST_DIFFERING:
            with contextlib.suppress(BlockingIOError), held(settings, other.name, wait=False):
                run_script(["cp", "--archive", "--reflink=auto", str(other), str(place)], _BUILDING)
                return
    place.mkdir(parents=True, exist_ok=True)


def make_current(settings: Settings, name: str, folder: str) -> None:
    """Make a built kernel the one of a name, with the project's modules; where they cannot be built, runs use the one of before."""
    link = settings.kernel(name)
    before = os.readlink(link) if link.is_symlink() else None
    point(link, folder)
    try:
        build_modules(settings, name)
    except BaseException:
        link.unlink()
        if before is not None:
            point(link, before)
        raise


def build_modules(settings: Settings, name: str) -> None:
    """Compile the project's modules for the kernel of a name, unless the cache has them: confined if an admin sent it."""
    if is_sent(settings.kernel(name)):
        point(settings.modules(name), build_confined_modules(settings, name).name)
    else:
        words = [str(_SANDBOX / "build-modules.sh"), name]
        run_script(words, "building the kernel modules", {"LONGHAUL_CACHE": str(settings.cache)})


def _line(release: str) -> str:
    """The line of a release, as in 6.12 of 6.12.57."""
    return ".".join(release.split("-")[0].split(".")[:2])


def write(settings: Settings, kernel: NamedKernel) -> None:
    """Keep what a kernel consists of under its name."""
    file = folder_of_names(settings) / kernel.name / "kernel.json"
    new = file.with_name(f".{file.name}-{os.getpid()}")
    new.write_text(json.dumps(kernel.content(), indent=1) + "\n")
    new.replace(file)


def held(settings: Settings, name: str, *, wait: bool = True) -> AbstractContextManager[None]:
    """The lock of a name's build tree; BlockingIOError if another process has it and `wait` is off."""
    folder = settings.cache / "kernels" / "trees"
    folder.mkdir(parents=True, exist_ok=True)
    return locked(folder / f".{name}.lock", wait=wait)


def _tree_folder(settings: Settings, name: str) -> Path:
    return settings.cache / "kernels" / "trees" / name


def _prune(settings: Settings, keep: str) -> None:
    """Delete the build trees that were not used for longest, until the others fit into the limit."""
    folder = settings.cache / "kernels" / "trees"
    found = sorted(
        (tree for tree in folder.glob("[!.]*") if tree.is_dir()), key=lambda tree: tree.stat().st_mtime, reverse=True
    )
    left = settings.kernel_trees_mb * 2**20
    for tree in found:
        left -= sum(file.lstat().st_blocks * 512 for file in tree.rglob("*"))
        if left >= 0 or tree.name == keep:
            continue
        with contextlib.suppress(BlockingIOError), held(settings, tree.name, wait=False):
            shutil.rmtree(tree, ignore_errors=True)
