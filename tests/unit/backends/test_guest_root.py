"""The root of a guest that has ended serves the next guest of the process, as if it were new."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest

from longhaul.orchestrator.backends.guest_root import MODULES, put_root_away, take_root
from longhaul.orchestrator.results.staging import Staging


@pytest.fixture
def staging(tmp_path: Path) -> Iterator[Staging]:
    with Staging(tmp_path / "home") as folder:
        yield folder


@pytest.fixture
def agent(tmp_path: Path) -> Path:
    program = tmp_path / "agent"
    program.write_text("the agent")
    return program


def files(folder: Path) -> list[str]:
    return sorted(str(file.relative_to(folder)) for file in folder.rglob("*"))


def end_run(guest: Path) -> None:
    """What a guest leaves when its results have been taken."""
    (guest / "run.json").write_text("{}")
    (guest / MODULES / "tcp_old.ko").write_text("")
    put_root_away(guest)


def test_a_used_root_has_the_files_of_a_new_one(staging: Staging, agent: Path) -> None:
    with staging.directory("first") as directory:
        guest = take_root(directory, agent)
        new, number = files(directory), (guest / "proc").stat().st_ino
        end_run(guest)
        assert not guest.exists()
    with staging.directory("second") as directory:
        guest = take_root(directory, agent)
        assert files(directory) == new
        assert (guest / "proc").stat().st_ino == number


def test_a_root_with_a_file_of_its_own_is_deleted(staging: Staging, agent: Path) -> None:
    with staging.directory("first") as directory:
        guest = take_root(directory, agent)
        (guest / "left-by-a-program").mkdir()
        end_run(guest)
        assert not guest.exists()
    with staging.directory("second") as directory:
        assert not (take_root(directory, agent) / "left-by-a-program").exists()


def test_a_used_root_is_taken_where_files_cannot_be_linked(
    staging: Staging, agent: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: Path, target: Path) -> None:
        raise OSError(errno.EXDEV, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuse)
    with staging.directory("first") as directory:
        guest = take_root(directory, agent)
        number = (guest / "init").stat().st_ino
        end_run(guest)
    with staging.directory("second") as directory:
        assert (take_root(directory, agent) / "init").stat().st_ino == number


def test_a_used_root_gets_an_agent_that_was_built_meanwhile(staging: Staging, agent: Path) -> None:
    with staging.directory("first") as directory:
        end_run(take_root(directory, agent))
    agent.unlink()
    agent.write_text("the agent built anew")
    with staging.directory("second") as directory:
        assert (take_root(directory, agent) / "init").read_text() == "the agent built anew"


def test_roots_go_with_their_staging_folder(tmp_path: Path, agent: Path) -> None:
    with Staging(tmp_path / "home") as folder, folder.directory("first") as directory:
        end_run(take_root(directory, agent))
    assert files(tmp_path / "home" / "staging") == [".lock"]
    with Staging(tmp_path / "home") as folder, folder.directory("second") as directory:
        assert (take_root(directory, agent) / "init").is_file()


def test_a_directory_outside_of_staging_keeps_nothing_beside_it(tmp_path: Path, agent: Path) -> None:
    directory = tmp_path / "run"
    directory.mkdir()
    end_run(take_root(directory, agent))
    assert files(tmp_path) == ["agent", "run", "run/home"]
