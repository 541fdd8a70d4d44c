"""A process locks its staging folder; folders of dead processes are swept."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.locks import locked


def test_a_directory_is_gone_afterwards(tmp_path: Path) -> None:
    with Staging(tmp_path) as staging:
        with staging.directory("a") as directory:
            (directory / "trace.bin").write_bytes(b"x")
        assert not directory.exists()
    assert [entry.name for entry in (tmp_path / "staging").iterdir()] == [".lock"]


def test_a_directory_that_was_moved_away_stays(tmp_path: Path) -> None:
    with Staging(tmp_path) as staging, staging.directory("a") as directory:
        directory.rename(tmp_path / "kept")
    assert (tmp_path / "kept").is_dir()


def test_folders_of_dead_processes_are_swept_and_others_stay(tmp_path: Path) -> None:
    dead = tmp_path / "staging" / "1-dead"
    dead.mkdir(parents=True)
    (dead / "lock").touch()
    with Staging(tmp_path) as living, living.directory("mine") as mine:
        with Staging(tmp_path):
            assert mine.is_dir()
        assert not dead.exists()


def test_a_process_that_ends_meanwhile_removes_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    leaving = tmp_path / "staging" / "1-leaving"
    leaving.mkdir(parents=True)

    def gone_by_then(file: Path, *, wait: bool = True) -> AbstractContextManager[None]:
        if file.parent == leaving:
            leaving.rmdir()
        return locked(file, wait=wait)

    monkeypatch.setattr("longhaul.orchestrator.results.staging.locked", gone_by_then)
    with Staging(tmp_path):
        assert not leaving.exists()


def test_a_home_that_is_a_file_is_an_error(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("")
    with pytest.raises(ResultsError, match="LONGHAUL_HOME"), Staging(home):
        pass
