"""The wheel of this working copy, and an environment that has it and knows nothing of the working copy."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from longhaul.orchestrator.system.installation import AGENT, FILES, PAGE
from longhaul.orchestrator.system.settings import load_settings

# Any time will do that is the same for everybody who builds.
_EPOCH = "1700000000"


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel, and a cache that has kernels and nothing else."""

    folder: Path
    cache: Path
    home: Path

    @property
    def longhaul(self) -> Path:
        """The command."""
        return self.folder / "bin/longhaul"

    @property
    def settings(self) -> dict[str, str]:
        """What it is told of this machine."""
        return {"LONGHAUL_CACHE": str(self.cache), "LONGHAUL_HOME": str(self.home)}

    def run(self, *words: str | Path) -> str:
        """What a program of the environment says, anywhere but in the working copy."""
        # Nothing that was loaded before, nor a path that somebody set, leads to the working copy.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [self.folder / "bin" / words[0], *words[1:]],
            cwd=self.folder.parent,
            env=environment | self.settings,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


def build_wheel(sources: Path, target: Path) -> Path:
    """The wheel of a working copy, as `make wheel` has it."""
    words = ["--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", str(target), "."]
    start([sys.executable, "-m", "pip", "wheel", *words], sources, SOURCE_DATE_EPOCH=_EPOCH)
    (built,) = target.glob("*.whl")
    return built


def start(words: Sequence[str], folder: Path, **environment: str) -> str:
    """A program that has to end well."""
    done = subprocess.run(words, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of this working copy."""
    assert (PAGE / "index.html").is_file(), "the web page is not built: make web"
    return build_wheel(FILES, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """What it imports is this working copy's, of requirements-dev.lock; the project itself is the wheel's."""
    assert AGENT.is_file(), "the agent is not built: make agent"
    place = tmp_path_factory.mktemp("installed")
    made = Environment(place / "environment", place / "cache", place / "home")
    venv.create(made.folder, symlinks=True)
    python = made.folder / "bin/python"
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    start([sys.executable, "-m", "pip", "--python", str(python), *install], place)
    packages = Path(start([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], place).strip())
    # A folder that is named by a .pth is searched, and the .pth files in it are not: the working copy's own stays out.
    (packages / "imported.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    made.cache.mkdir()
    for part in ("kernels", "sources"):
        (made.cache / part).symlink_to((load_settings().cache / part).resolve())
    return made
