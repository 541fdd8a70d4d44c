"""The parts of the sandbox: the release's (prebuilt.py), or built: kernel and modules by the scripts of kmod/sandbox, the agent by its Makefile."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from longhaul.orchestrator.kernels import build_trees, confined_builds, named_kernels
from longhaul.orchestrator.kernels.build_user_modules import (
    build_modules_of,
    has_headers,
    missing_headers,
    object_of,
    rename_object,
)
from longhaul.orchestrator.kernels.prebuilt import (
    find_parts,
    install_kernel,
    is_released,
    provide_agent,
    provide_kernel,
)
from longhaul.orchestrator.kernels.release_lock import read_release
from longhaul.orchestrator.modules.content import adopt, place_of
from longhaul.orchestrator.modules.objects import built_for
from longhaul.orchestrator.plan.kernel_modules import planned_module
from longhaul.orchestrator.plan.run import Module
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.kernel_versions import DEBUG_KERNELS, WIDE_KERNELS
from longhaul.orchestrator.spec.user_code.user_modules import own_controls
from longhaul.orchestrator.system.built_kernels import is_sent, manifest_of
from longhaul.orchestrator.system.errors import BackendError, NotFound, PlanError, nearest
from longhaul.orchestrator.system.installation import AGENT, AGENT_SOURCES, IS_CHECKOUT, KMOD
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.process import run_script
from longhaul.orchestrator.system.settings import Settings, load_settings

_SANDBOX = KMOD / "sandbox"
_GDB_SCRIPT = _SANDBOX / "module_symbols.py"
_KERNEL = "building the sandbox kernel"
_MODULES = "building the kernel modules"


def known_kernels() -> list[str]:
    """The versions of kernel.lock, the default first."""
    rows = (_SANDBOX / "kernel.lock").read_text().splitlines()
    return [row.split()[0] for row in rows if row.strip() and not row.startswith("#")]


def build_kernel(version: str, origin: str = "") -> str:
    """The folder of that kernel in the cache, with its modules next to it, installed or built if it is missing, and made current.

    `origin` is "release", "source", or "" for the release's where this installation has it, and one built from source elsewhere.
    """
    settings = load_settings()
    if version in WIDE_KERNELS and version not in named_kernels.names(settings):
        add_wide_kernel(settings, version)
    if version in named_kernels.names(settings):
        if origin == "release":
            what = "a kernel of your own is in no release"
            raise PlanError("installing the release's", f"kernel {version}", what, "leave --from out")
        if named_kernels.find(settings, version).sent:
            return str(confined_builds.build(settings, version))
        return str(build_trees.build(settings, version))
    _known(version, _KERNEL)
    parts = find_parts(version) if origin == "release" or (not origin and settings.prebuilt) else None
    if parts is not None:
        return str(install_kernel(settings, version, parts))
    if origin == "release":
        what = "this installation has no prebuilt one"
        hint = f"run `longhaul kernel install` with a wheel that has it, or `longhaul kernel build {version} --from source`"
        raise BackendError("installing the release's", f"kernel {version}", what, hint)
    folder = _build_from_source(settings, version)
    _build("build-modules.sh", version, _MODULES)
    return folder


def add_wide_kernel(settings: Settings, name: str) -> None:
    """Add the kernel with room for large private areas of congestion controls under its name."""
    version = WIDE_KERNELS[name]
    source = named_kernels.Source("version", version)
    named_kernels.add(settings, name, source, [wide_patch(version)], taken=known_kernels())


def wide_patch(version: str) -> Path:
    """The patch that gives controls more room in a version of Linux."""
    before = tuple(map(int, version.split("."))) < (5, 15)
    return _SANDBOX / "wide" / ("private-area-until-5.14.patch" if before else "private-area.patch")


def _build_from_source(settings: Settings, version: str) -> str:
    """build.sh takes a folder in the cache for complete; the release's lacks the headers, which are the work of the same build."""
    name = run_script([str(_SANDBOX / "build.sh"), "--hash", version], _KERNEL)
    target = settings.cache / "kernels" / name
    if (target / "manifest.json").is_file() and not has_headers(target):
        with tempfile.TemporaryDirectory(dir=settings.cache, prefix=".headers-") as apart:
            built = Path(_build("build.sh", version, _KERNEL, Path(apart)))
            if (built / "manifest.json").read_bytes() != (target / "manifest.json").read_bytes():
                what = "this machine builds other bytes from the same source than the release has"
                raise BackendError(_KERNEL, version, what, "report it with the output of `longhaul kernel list`")
            # Another process may have been quicker.
            with contextlib.suppress(OSError):
                (built / "tree").rename(target / "tree")
    return _build("build.sh", version, _KERNEL)


def build_modules(version: str) -> str:
    """The folder of the project's modules for that kernel in the cache, installed or built if it is missing."""
    settings = load_settings()
    kernel = settings.kernel(version)
    if is_sent(kernel):
        build_trees.build_modules(settings, version)
        return str(settings.modules(version).resolve())
    if kernel.is_dir() and not has_headers(kernel):
        _known(version, _MODULES)
        parts = find_parts(version) if is_released(read_release(), kernel.resolve().name) else None
        if parts is None:
            raise missing_headers(_MODULES, version, version)
        install_kernel(settings, version, parts)
        return str(settings.modules(version).resolve())
    return _build("build-modules.sh", version, _MODULES)


def build_agent() -> str:
    """The agent, installed or built in the place where this installation looks for it if it is missing."""
    settings = load_settings()
    # A checkout's sources may have changed since.
    if not IS_CHECKOUT and settings.prebuilt:
        provide_agent(settings)
        if AGENT.is_file():
            return str(AGENT)
    AGENT.parent.mkdir(parents=True, exist_ok=True)
    with locked(AGENT.parent / ".lock"), tempfile.TemporaryDirectory() as folder:
        # make takes a path with a space for two.
        target = os.path.relpath(AGENT.parent, AGENT_SOURCES)
        if " " in target:
            link = Path(folder, "build")
            link.symlink_to(AGENT.parent)
            target = str(link)
        words = ["make", "--silent", f"--jobs={settings.jobs}", "--directory", str(AGENT_SOURCES), f"BUILD={target}"]
        run_script(words, "building the agent")
    return str(AGENT)


def build_folder(version: str, written: str, *, symbols: bool = False) -> str:
    """The folder of the objects of user-supplied sources; PlanError after the compiler's messages, or if one cannot get its name.

    With `symbols` the objects are for gdb, under the names that they have in a guest, and beside them is the script that loads them.
    """
    settings = load_settings()
    attempting = "building the module"
    _known(version, attempting)
    try:
        place = place_of(written, settings.cache)
        controls = own_controls(place, [version])
        (source,) = adopt([place], settings.cache)
    except ValueError as error:
        raise PlanError(attempting, written, f"needed: {error}") from None
    if place.suffix == ".ko":
        raise PlanError(attempting, written, "it is built already", "try it with `longhaul modules check`")
    build = build_modules_of(settings, version, source, symbols=symbols)
    for module in build.modules:
        if module.error:
            raise PlanError(attempting, f"{module.name} for {version}", module.problem, "repair the source")
    for control in controls:
        plan = planned_module(control, {})
        if plan.file and symbols:
            with contextlib.suppress(FileExistsError):
                build.object(plan.name).symlink_to(build.object(plan.file).name)
        elif plan.file:
            rename_object(settings, build.object(plan.file), plan)
    if symbols:
        shutil.copyfile(_GDB_SCRIPT, build.folder / _GDB_SCRIPT.name)
    return str(build.folder)


def own_module(settings: Settings, version: str, source: str, name: str, plan: Module | None = None) -> Path:
    """The object of a user-supplied module (user_modules.py), built for that kernel if it is source, and with the names of its plan."""
    if plan is None or not plan.file or (settings.cache / "own" / source / f"{name}.ko").is_file():
        # The cache of a cluster's worker has objects that were renamed before.
        return _own_module(settings, version, source, name)
    return rename_object(settings, _own_module(settings, version, source, plan.file), plan)


def _own_module(settings: Settings, version: str, source: str, name: str) -> Path:
    folder = settings.cache / "own" / source
    if not folder.is_dir():
        raise BackendError(
            "finding the module",
            name,
            f"its copy {source} is not in the cache",
            "run its experiment from the file again",
        )
    supplied = folder / f"{name}.ko"
    if not supplied.is_file():
        return object_of(settings, version, source, name)
    needed = built_for((settings.modules(version) / "lh_trace.ko").read_bytes())
    has = built_for(supplied.read_bytes())
    if has != needed:
        raise PlanError(
            "loading the module",
            supplied.name,
            f"it is built for {has or 'an unnamed kernel'}, the guest's is {needed}",
            "supply its source instead, or build it for the guest's kernel (docs/kernel-modules.md)",
        )
    return supplied


def kernels_in_cache(settings: Settings) -> list[dict[str, Any]]:
    """One row per kernel in the cache: its origin, whether runs use it, and whether modules can be built against it."""
    release, kernels = read_release(), settings.cache / "kernels"
    if kernels.is_dir() and not os.access(kernels, os.R_OK | os.X_OK):
        hint = "set LONGHAUL_CACHE to a folder that this user can read"
        raise BackendError("listing kernels in", str(kernels), "Permission denied", hint)
    current = {settings.kernel(name).resolve() for name in (*known_kernels(), *named_kernels.names(settings))}
    rows = []
    for manifest in sorted(kernels.glob("[!.]*/manifest.json")):
        folder = manifest.parent
        if folder.is_symlink():
            continue
        about = json.loads(manifest.read_text())
        pinned = is_released(release, folder.name)
        rows.append(
            {
                "version": about["version"],
                "kernelrelease": about["kernelrelease"],
                "hash": about["hash"],
                "origin": "release"
                if pinned
                else "built here"
                if has_headers(folder) or "parts" in about
                else "another release",
                "current": folder in current,
                "headers": has_headers(folder),
                "directory": str(folder),
            }
        )
    return sorted(rows, key=lambda row: (row["version"], not row["current"]))


def built_kernels(settings: Settings) -> list[dict[str, Any]]:
    """One row per kernel of kernel.lock and per kernel with a name: what it consists of, and its manifest if it is built."""
    for version in known_kernels():
        # A damaged part is reported by the run that needs it.
        with contextlib.suppress(BackendError):
            provide_kernel(settings, version)
    rows = [_row(settings, version, []) for version in known_kernels()]
    for name in named_kernels.names(settings):
        # It may be deleted meanwhile.
        with contextlib.suppress(NotFound):
            rows.append(_row(settings, name, [*named_kernels.find(settings, name).lines()]))
    return rows


def kernels_for_modules(settings: Settings) -> list[str]:
    """The kernels that are built here and are for numbers, the default first: those that modules are tried on."""
    rows = [row["version"] for row in built_kernels(settings) if row["built"]]
    return [name for name in rows if name not in DEBUG_KERNELS and name not in WIDE_KERNELS]


def find_kernels(settings: Settings, name: str | None) -> list[dict[str, Any]]:
    """The same, of one kernel if a name is given; NotFound lists the known ones."""
    rows = built_kernels(settings)
    if name is None:
        return rows
    known = [row["version"] for row in rows]
    if name not in known:
        hint = f"known: {', '.join(known)}{nearest(name, known)}"
        raise NotFound("looking for the kernel", name, "no kernel has this name", hint)
    return [row for row in rows if row["version"] == name]


def _row(settings: Settings, version: str, parts: list[str]) -> dict[str, Any]:
    folder = settings.kernel(version)
    row: dict[str, Any] = {"version": version, "built": (folder / "manifest.json").is_file(), "parts": parts}
    if row["built"]:
        found = manifest_of(folder)
        row |= {"directory": str(folder.resolve()), "kernelrelease": found["kernelrelease"], "hash": found["hash"]}
        # Patches about speed or parts that did not apply.
        row["without"] = found.get("without") or found.get("parts", {}).get("without", [])
    return row


def built_modules(settings: Settings) -> list[dict[str, Any]]:
    """One row per congestion control: its origin, and whether each known kernel can run it."""
    rows = []
    for name, control in CONGESTION_CONTROLS.items():
        states = {}
        for version in (*known_kernels(), *named_kernels.names(settings)):
            kernel = settings.kernel(version)
            ours = settings.modules(version) / f"{control.module}.ko"
            if not (kernel / "manifest.json").is_file():
                states[version] = "no kernel"
            elif control.builtin:
                states[version] = "part of the kernel"
            else:
                of_kernel = kernel / "modules" / f"{control.module}.ko"
                states[version] = "built" if ours.is_file() or of_kernel.is_file() else "not built"
        own = (KMOD / f"{control.module}.c").is_file()
        rows.append({"cc": name, "module": control.module, "of": "longhaul" if own else "linux", "kernels": states})
    return rows


def _known(version: str, attempting: str) -> str:
    known = [*known_kernels(), *named_kernels.names(load_settings())]
    if version not in known:
        hint = f"known: {', '.join(known)}{nearest(version, known)}"
        raise PlanError(attempting, version, "no kernel has this name", hint)
    return version


def _build(script: str, version: str, attempting: str, cache: Path | None = None) -> str:
    place = cache or load_settings().cache
    build_trees.check_place(place, attempting, version)
    return run_script([str(_SANDBOX / script), _known(version, attempting)], attempting, {"LONGHAUL_CACHE": str(place)})
