"""Builds what the sandbox runs: kernel and modules, through the scripts of kmod/sandbox, into the cache."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestrator.errors import PlanError
from orchestrator.process import run_script
from orchestrator.settings import Settings, load_settings

_SANDBOX = Path(__file__).resolve().parent.parent / "kmod" / "sandbox"


def known_kernels() -> list[str]:
    """The versions of kernel.lock, the default first."""
    rows = (_SANDBOX / "kernel.lock").read_text().splitlines()
    return [row.split()[0] for row in rows if row.strip() and not row.startswith("#")]


def build_kernel(version: str) -> str:
    """The folder of that kernel in the cache, built if it is not there."""
    return _build("build.sh", version, "building the sandbox kernel")


def build_modules(version: str) -> str:
    """The folder of the project's modules for that kernel in the cache, built if they are not there."""
    return _build("build-modules.sh", version, "building the kernel modules")


def built_kernels(settings: Settings) -> list[dict[str, Any]]:
    """One row a known kernel: its manifest if it is built."""
    rows = []
    for version in known_kernels():
        folder = settings.cache / "kernels" / f"current-{version}"
        row: dict[str, Any] = {"version": version, "built": (folder / "manifest.json").is_file()}
        if row["built"]:
            row |= {"directory": str(folder.resolve()), **json.loads((folder / "manifest.json").read_text())}
            del row["files"]
        rows.append(row)
    return rows


def _build(script: str, version: str, attempting: str) -> str:
    if version not in known_kernels():
        raise PlanError(attempting, version, "no such kernel", f"known: {', '.join(known_kernels())}")
    return run_script([str(_SANDBOX / script), version], attempting, {"LONGHAUL_CACHE": str(load_settings().cache)})
