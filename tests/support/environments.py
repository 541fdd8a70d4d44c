"""Environments with some of the packages of this one: a real virtual environment, whose packages are links, so it takes a tenth of a second."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from tests.support.folders import REPOSITORY


def locked(lock: str) -> list[str]:
    """The packages of a lock file that this platform has."""
    rows = (REPOSITORY / lock).read_text().splitlines()
    return sorted({row.split("==")[0] for row in rows if re.match(r"[a-z]", row) and "win32" not in row})


def installed() -> set[str]:
    """Every package of this environment."""
    return {_canonical(one.metadata["Name"]) for one in distributions(path=[sysconfig.get_path("purelib")])}


def environment_with(folder: Path, packages: Iterable[str]) -> Path:
    """A new environment with these packages and the project itself; the path of its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    for name in {*packages, "longhaul"}:
        _link(distribution(name), site)
    return folder / "bin" / "python"


def _link(package: Distribution, site: Path) -> None:
    for top in {file.parts[0] for file in package.files or []} - {"..", "__pycache__"}:
        place = site / top
        if not place.exists():
            place.symlink_to(Path(str(package.locate_file(top))))


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
