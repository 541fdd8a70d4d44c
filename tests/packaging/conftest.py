"""The wheel of this working copy with the release's parts, and an environment with the wheel but without the working copy."""

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

from longhaul.orchestrator.system.installation import FILES, PAGE
from tests.support.programs import run_program

# Any time that is the same for every build.
EPOCH = "1700000000"


@dataclass(frozen=True)
class Environment:
    """A virtual environment with the wheel, in a folder with a space in its name, and an empty home."""

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

    @property
    def prebuilt(self) -> Path:
        """The release's parts, as they are installed."""
        return self.folder / "share/longhaul/prebuilt"

    def run(self, *words: str | Path, **settings: str) -> str:
        """The output of a program of the environment, run outside the working copy."""
        done = self.attempt(*words, **settings)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def attempt(
        self, *words: str | Path, before: Sequence[str] = (), **settings: str
    ) -> subprocess.CompletedProcess[str]:
        """The same, whatever its exit code; `before` is a program that starts it."""
        # No environment variable or path leads to the working copy.
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        return run_program(
            [*before, self.folder / "bin" / words[0], *words[1:]],
            cwd=self.folder.parent,
            env=environment | self.settings | settings,
        )


def build_wheel(sources: Path, target: Path) -> Path:
    """Build the wheel of a working copy, as `make wheel` does."""
    words = ["--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", str(target), "."]
    start([sys.executable, "-m", "pip", "wheel", *words], sources, SOURCE_DATE_EPOCH=EPOCH)
    (built,) = target.glob("*.whl")
    return built


def start(words: Sequence[str], folder: Path, **environment: str) -> str:
    """The output of a program that has to succeed."""
    done = run_program(words, cwd=folder, env=os.environ | environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this working copy."""
    assert (PAGE / "index.html").is_file(), "the web page is not built: make web"
    start([sys.executable, "-m", "kmod.release.parts", "build/parts", "6.12"], FILES)
    return build_wheel(FILES, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def kernel_wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the other guest kernel."""
    folder = tmp_path_factory.mktemp("kernel-wheel")
    start([sys.executable, "-m", "kmod.release.parts", str(folder / "parts"), "6.1"], FILES)
    words = [sys.executable, "-m", "kmod.release.kernel_wheel", str(folder / "parts"), str(folder), EPOCH]
    return Path(start(words, FILES).strip())


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its dependencies are those of this working copy, of requirements-dev.lock; the project itself is the wheel's, and read-only."""
    folder = tmp_path_factory.mktemp("installed") / "an environment"
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    install = ["install", "--quiet", "--no-deps", "--no-index", str(wheel)]
    start([sys.executable, "-m", "pip", "--python", str(python), *install], folder)
    packages = Path(
        start([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], folder).strip()
    )
    # Python searches a folder named in a .pth but ignores the .pth files in it, so the working copy's own is not used.
    (packages / "imported.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    for place in (folder, *folder.rglob("*")):
        if not place.is_symlink():
            place.chmod(place.stat().st_mode & ~0o222)
    return folder


@pytest.fixture
def environment(installed: Path, tmp_path: Path) -> Environment:
    """The installed wheel, and a home of a user who has run nothing yet."""
    home = tmp_path / "a user's home"
    home.mkdir()
    return Environment(installed, home / ".cache/longhaul", home / ".local/share/longhaul")
