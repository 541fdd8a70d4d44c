"""`longhaul new-module`: what it writes compiles, passes its trial, and its experiment holds as it stands."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import longhaul


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    said = longhaul("new-module", "my_cc", "--folder", str(tmp_path / "mine"), home=tmp_path)
    assert said.returncode == 0, said.stderr
    return tmp_path / "mine"


def test_the_commands_that_it_names_work_in_turn(folder: Path, tmp_path: Path) -> None:
    said = longhaul("new-module", "other", "--folder", str(tmp_path / "other"), home=tmp_path).stdout
    commands = [line.split("  ")[0].split() for line in said.splitlines() if line.startswith("longhaul ")]
    assert [words[1] for words in commands] == ["modules", "modules", "run"]
    for words in commands:
        done = longhaul(*words[1:], home=tmp_path / "home")
        assert done.returncode == 0, (words, done.stdout, done.stderr)


def test_its_parameters_are_known_and_do_what_they_say(folder: Path, tmp_path: Path) -> None:
    """A larger share left by each loss, and a steeper increase: more loss for the same path."""

    def drops(*changes: str) -> int:
        words = [word for change in changes for word in ("--set", change)]
        said = longhaul("run", str(folder / "my_cc.yaml"), *words, "--json", home=tmp_path / "home")
        assert said.returncode == 0, said.stderr
        return int(json.loads(said.stdout)["runs"][0]["path"]["drops"])

    gentle = drops()
    steep = drops("flows.first.params={beta: 0.9, add: 8}", "flows.second.params={beta: 0.9, add: 8}")
    assert steep > 4 * gentle
    wrong = longhaul("plan", str(folder / "my_cc.yaml"), "--set", "flows.first.params={beta: 2}", home=tmp_path)
    assert wrong.returncode == 2
    assert "0.1 to 0.95" in wrong.stderr


def test_it_runs_on_the_other_kernel_too(folder: Path, tmp_path: Path) -> None:
    said = longhaul("modules", "check", str(folder), "--kernel", "6.1", home=tmp_path)
    assert said.returncode == 0, said.stdout


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("cubic", "the name is taken"),
        ("Mine", "it is no name"),
        ("../mine", "it is no name"),
        ("a_name_that_is_too_long", "it is no name"),
    ],
)
def test_a_name_that_does_not_do_is_refused(tmp_path: Path, name: str, what: str) -> None:
    said = longhaul("new-module", name, "--folder", str(tmp_path / "new"), home=tmp_path)
    assert said.returncode == 2
    assert what in said.stderr
    assert not (tmp_path / "new").exists()


def test_what_is_there_is_not_written_over(folder: Path, tmp_path: Path) -> None:
    (folder / "tcp_my_cc.c").write_text("mine")
    said = longhaul("new-module", "my_cc", "--folder", str(folder), home=tmp_path)
    assert said.returncode == 2
    assert (folder / "tcp_my_cc.c").read_text() == "mine"
