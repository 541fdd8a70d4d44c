"""A kernel's program is checked by its hash before a guest starts with it; a check is remembered as long as the file is the same."""

from __future__ import annotations

import hashlib
import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.system.built_kernels import checked_program
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.settings import Settings, load_settings

PROGRAM = b"a kernel" * 1000


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    folder = tmp_path / "kernels" / ("ab" * 16)
    folder.mkdir(parents=True)
    (folder / "linux").write_bytes(PROGRAM)
    pinned = hashlib.sha256(PROGRAM).hexdigest()
    (folder / "manifest.json").write_text(json.dumps({"hash": folder.name, "files": {"linux": pinned}}))
    (tmp_path / "kernels" / "current-6.12").symlink_to(folder)
    return replace(load_settings(), cache=tmp_path)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of hashed files, from now on."""
    names: list[str] = []
    digest = hashlib.file_digest

    def noted(file: object, algorithm: str) -> object:
        names.append(Path(file.name).name)  # type: ignore[attr-defined]
        return digest(file, algorithm)  # type: ignore[arg-type]

    monkeypatch.setattr(hashlib, "file_digest", noted)
    return names


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time at which a file that was just written is old enough."""
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 3)


@pytest.mark.usefixtures("later")
def test_an_unchanged_program_is_hashed_once(settings: Settings, hashed: list[str]) -> None:
    program = checked_program(settings, "6.12")
    assert program == settings.kernel("6.12").resolve() / "linux"
    assert [checked_program(settings, "6.12") for _ in range(3)] == [program] * 3
    assert hashed == ["linux"]


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("by", ["written in place", "replaced", "with its times and size kept"])
def test_a_changed_program_is_refused_after_a_check(settings: Settings, by: str) -> None:
    program = checked_program(settings, "6.12")
    before = program.stat()
    if by == "replaced":
        (program.parent / "new").write_bytes(PROGRAM[::-1])
        (program.parent / "new").replace(program)
    else:
        with program.open("r+b") as file:
            file.write(b"another")
    if by != "written in place":
        os.utime(program, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(BackendError, match=r"has the hash .* as its manifest says"):
        checked_program(settings, "6.12")


@pytest.mark.usefixtures("later")
def test_another_manifest_is_not_the_checked_one(settings: Settings) -> None:
    folder = checked_program(settings, "6.12").parent
    (folder / "manifest.json").write_text(json.dumps({"hash": folder.name, "files": {"linux": "0" * 64}}))
    with pytest.raises(BackendError, match="not 000000000000 as its manifest says"):
        checked_program(settings, "6.12")


def test_a_program_that_was_just_written_is_hashed_again(settings: Settings, hashed: list[str]) -> None:
    checked_program(settings, "6.12")
    checked_program(settings, "6.12")
    assert hashed == ["linux", "linux"]


@pytest.mark.usefixtures("later")
@pytest.mark.parametrize("damage", ["a folder", "not text"])
def test_a_note_that_cannot_be_read_or_written_only_costs_time(
    settings: Settings, hashed: list[str], damage: str
) -> None:
    note = settings.cache / "checked" / ("ab" * 16)
    if damage == "a folder":
        note.mkdir(parents=True)
    else:
        note.parent.mkdir()
        note.write_bytes(b"\xff\xfe")
    checked_program(settings, "6.12")
    checked_program(settings, "6.12")
    assert hashed == (["linux", "linux"] if damage == "a folder" else ["linux"])
    assert not [file for file in note.parent.iterdir() if file.name.startswith(".")]
