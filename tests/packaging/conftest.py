"""The wheel of this working copy, and an environment with the wheel but without the working copy."""

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

# Any time that is the same for every build.
_EPOCH = "1700000000"


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel, and a cache with only kernels."""

    folder: Path
    cache: Path
    home: Path

    @property
    def longhaul(self) -> Path:
        """The command."""
        return self.folder / "bin/longhaul"

    @property
    def settings(self) -> dict[str, str]:
        """The environment variables of its programs."""
        return {"LONGHAUL_CACHE": str(self.cache), "LONGHAUL_HOME": str(self.home)}

    def run(self, *words: str | Path) -> str:
        """The output of a program of the environment, run outside the working copy."""
        # No environment variable or path leads to the working copy.
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
    """Build the wheel of a working copy, as `make wheel` does."""
    words = ["--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", str(target), "."]
    start([sys.executable, "-m", "pip", "wheel", *words], sources, SOURCE_DATE_EPOCH=_EPOCH)
    (built,) = target.glob("*.whl")
    return built


def start(words: Sequence[str], folder: Path, **environment: str) -> str:
    """The output of a program that has to succeed."""
    done = subprocess.run(words, cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this working copy."""
    assert (PAGE / "index.html").is_file(), "the web page is not built: make web"
    return build_wheel(FILES, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Its dependencies are those of this working copy, of requirements-dev.lock; the project itself is the wheel's."""
    assert AGENT.is_file(), "the agent is not built: make agent"
    place = tmp_path_factory.mktemp("installed")
    made = Environment(place / "environment", place / "cache", place / "home")
    venv.create(made.folder, symlinks=True)
    python = made.folder / "bin/python"
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    start([sys.executable, "-m", "pip", "--python", str(python), *install], place)
    packages = Path(start([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], place).strip())
    # Python searches a folder named in a .pth but ignores the .pth files in it, so the working copy's own is not used.
    (packages / "imported.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    made.cache.mkdir()
    for part in ("kernels", "sources"):
        (made.cache / part).symlink_to((load_settings().cache / part).resolve())
    return made
