"""Build the parts of the sandbox: kernel and modules, through the scripts of kmod/sandbox, into the cache; and the agent, by its Makefile."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from longhaul.orchestrator.kernels.build_user_modules import build_objects
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.spec.user_modules import adopt, own_controls
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.installation import AGENT, AGENT_SOURCES, KMOD
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.process import run_script
from longhaul.orchestrator.system.settings import Settings, load_settings

_SANDBOX = KMOD / "sandbox"


def known_kernels() -> list[str]:
    """The versions of kernel.lock, the default first."""
    rows = (_SANDBOX / "kernel.lock").read_text().splitlines()
    return [row.split()[0] for row in rows if row.strip() and not row.startswith("#")]


def build_kernel(version: str) -> str:
    """The folder of that kernel in the cache, built if it is missing."""
    return _build("build.sh", version, "building the sandbox kernel")


def build_modules(version: str) -> str:
    """The folder of the project's modules for that kernel in the cache, built if it is missing."""
    return _build("build-modules.sh", version, "building the kernel modules")


def build_agent() -> str:
    """The agent, built in the place where this installation looks for it if it is missing."""
    AGENT.parent.mkdir(parents=True, exist_ok=True)
    with locked(AGENT.parent / ".lock"):
        words = [
            "make",
            "--silent",
            f"--jobs={load_settings().jobs}",
            "--directory",
            str(AGENT_SOURCES),
            # make takes a path with a space for two.
            f"BUILD={os.path.relpath(AGENT.parent, AGENT_SOURCES)}",
        ]
        run_script(words, "building the agent")
    return str(AGENT)


def build_folder(version: str, folder: Path) -> str:
    """The folder of the objects of user-supplied sources; PlanError after the compiler's messages."""
    settings = load_settings()
    try:
        own_controls(folder)
        (source,) = adopt([folder], settings.cache)
    except ValueError as error:
        raise PlanError("building the module", str(folder), f"allowed: {error}") from None
    return str(build_objects(settings, _known(version, "building the module"), source))


def own_module(settings: Settings, version: str, source: str, name: str) -> Path:
    """The object of a user-supplied module (user_modules.py), built for that kernel if it is source."""
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
        return build_objects(settings, version, source) / f"{name}.ko"
    needed = _vermagic(settings.modules(version) / "lh_trace.ko")
    has = _vermagic(supplied)
    if has != needed:
        raise PlanError(
            "loading the module",
            supplied.name,
            f"it is built for {has or 'an unnamed kernel'}, the guest's is {needed}",
            "supply its source instead, or build it for the guest's kernel (docs/kernel-modules.md)",
        )
    return supplied


def _vermagic(module: Path) -> str:
    """The kernel that a module was built for."""
    match = re.search(rb"\0vermagic=([^\0]*)\0", module.read_bytes())
    return match[1].decode(errors="replace").strip() if match else ""


def built_kernels(settings: Settings) -> list[dict[str, Any]]:
    """One row per known kernel: its manifest if it is built."""
    rows = []
    for version in known_kernels():
        folder = settings.kernel(version)
        row: dict[str, Any] = {"version": version, "built": (folder / "manifest.json").is_file()}
        if row["built"]:
            row |= {"directory": str(folder.resolve()), **json.loads((folder / "manifest.json").read_text())}
            del row["files"]
        rows.append(row)
    return rows


def built_modules(settings: Settings) -> list[dict[str, Any]]:
    """One row per congestion control: its origin, and whether each known kernel can run it."""
    rows = []
    for name, control in CONGESTION_CONTROLS.items():
        states = {}
        for version in known_kernels():
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
    if version not in known_kernels():
        raise PlanError(attempting, version, "no such kernel", f"known: {', '.join(known_kernels())}")
    return version


def _build(script: str, version: str, attempting: str) -> str:
    words = [str(_SANDBOX / script), _known(version, attempting)]
    return run_script(words, attempting, {"LONGHAUL_CACHE": str(load_settings().cache)})
