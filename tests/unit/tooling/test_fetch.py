"""The source of a guest kernel is found or fetched in the documented order (kmod/sandbox/fetch.sh), with archives of this machine as stand-ins."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.programs import run_program

SANDBOX = Path(__file__).resolve().parents[3] / "kmod" / "sandbox"
PACKAGE, VERSION = "linux-source-9.9", "9.9.4-1"
CONTENT, UPSTREAMS = b"Debian's archive", b"upstream's archive"


@dataclass(frozen=True)
class Place:
    """A copy of the scripts with one pinned source, and stand-ins of the archives."""

    folder: Path

    def fetch(self, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "LONGHAUL_CACHE": str(self.folder / "cache"),
            "LONGHAUL_SNAPSHOT_URL": f"file://{self.folder}/snapshot",
            "LONGHAUL_UPSTREAM_URL": f"file://{self.folder}/upstream",
            **settings,
        }
        words = (str(self.folder / "fetch.sh"), *words, PACKAGE)
        return run_program(words, env=environment)

    def give_snapshot(self) -> None:
        (self.folder / "snapshot" / "file").mkdir(parents=True)
        shutil.copy(self.folder / "package.deb", self.folder / "snapshot" / "file" / _sha1(self.folder / "package.deb"))

    def give_upstream(self, listed: bytes = UPSTREAMS) -> None:
        place = self.folder / "upstream" / "v9.x"
        place.mkdir(parents=True)
        (place / "linux-9.9.4.tar.xz").write_bytes(UPSTREAMS)
        (place / "sha256sums.asc").write_text(f"{hashlib.sha256(listed).hexdigest()}  linux-9.9.4.tar.xz\n")


def _sha1(file: Path) -> str:
    return hashlib.sha1(file.read_bytes(), usedforsecurity=False).hexdigest()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    shutil.copy(SANDBOX / "fetch.sh", tmp_path)
    # Debian's mirror has no such release.
    (tmp_path / "apt-state.sh").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "apt-state.sh").chmod(0o755)
    source = tmp_path / "package" / "usr" / "src"
    source.mkdir(parents=True)
    (source / f"{PACKAGE}.tar.xz").write_bytes(CONTENT)
    control = tmp_path / "package" / "DEBIAN" / "control"
    control.parent.mkdir()
    control.write_text(
        f"Package: {PACKAGE}\nVersion: {VERSION}\nArchitecture: all\nMaintainer: a <a@b>\nDescription: a source\n"
    )
    built: list[str | Path] = [
        "dpkg-deb",
        "--build",
        "--root-owner-group",
        tmp_path / "package",
        tmp_path / "package.deb",
    ]
    subprocess.run(built, check=True, capture_output=True)
    pin = f"{PACKAGE} 9.9.4 {VERSION} {hashlib.sha256(CONTENT).hexdigest()} {_sha1(tmp_path / 'package.deb')} forky\n"
    (tmp_path / "sources.lock").write_text(pin)
    return Place(tmp_path)


def test_the_pinned_archive_of_a_named_folder_is_taken(place: Place) -> None:
    (place.folder / "mine").mkdir()
    file = place.folder / "mine" / f"{PACKAGE}.tar.xz"
    file.write_bytes(CONTENT)
    done = place.fetch(LONGHAUL_KERNEL_SOURCES=str(file.parent))
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{file}\n", "")


def test_another_point_release_is_passed_over_and_named(place: Place) -> None:
    file = place.folder / "cache" / "sources" / f"{PACKAGE}.tar.xz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"another one")
    done = place.fetch()
    assert done.returncode == 3
    assert done.stdout.startswith(f"{PACKAGE} is missing: {file} is not {VERSION}, and neither Debian's mirror nor")
    assert done.stdout.count("\n") == 1
    assert "LONGHAUL_KERNEL_SOURCES" in done.stdout


def test_the_snapshot_archive_has_what_the_mirror_no_longer_has(place: Place) -> None:
    place.give_snapshot()
    place.give_upstream()
    done = place.fetch()
    assert done.returncode == 0, done.stdout
    assert Path(done.stdout.strip()).read_bytes() == CONTENT
    assert place.fetch().stderr == "", "it is kept"


def test_upstreams_archive_is_the_last_and_has_its_own_hash(place: Place) -> None:
    pinned = place.fetch("--sha256")
    assert pinned.stdout.strip() == hashlib.sha256(CONTENT).hexdigest()
    assert pinned.stderr == "", "nothing is fetched for the hash"
    place.give_upstream()
    done = place.fetch()
    assert Path(done.stdout.strip()).read_bytes() == UPSTREAMS
    assert "without Debian's patches" in done.stderr
    assert place.fetch("--sha256").stdout.strip() == hashlib.sha256(UPSTREAMS).hexdigest()


def test_a_damaged_archive_is_refused(place: Place) -> None:
    place.give_upstream(listed=b"what was published")
    assert place.fetch().returncode == 3


def test_a_source_that_is_not_pinned_is_apts(place: Place) -> None:
    (place.folder / "sources.lock").write_text("")
    done = place.fetch()
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == f"{PACKAGE} is missing: run `make setup`, or `apt-get install {PACKAGE}`\n"
