"""`longhaul new-module`: the written module compiles and passes its trial, and the written experiment meets its expectations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.command import longhaul


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    done = longhaul("new-module", "my_cc", "--folder", str(tmp_path / "mine"), home=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "mine"


def test_the_printed_commands_work_in_order(folder: Path, tmp_path: Path) -> None:
    text = longhaul("new-module", "other", "--folder", str(tmp_path / "other"), home=tmp_path).stdout
    commands = [line.split("  ")[0].split() for line in text.splitlines() if line.startswith("longhaul ")]
    assert [command[1] for command in commands] == ["modules", "modules", "run"]
    for command in commands:
        done = longhaul(*command[1:], home=tmp_path / "home")
        assert done.returncode == 0, (command, done.stdout, done.stderr)


def test_its_parameters_take_effect_and_have_bounds(folder: Path, tmp_path: Path) -> None:
    """A larger share kept at each loss and a steeper increase cause more loss on the same path."""

    def drops(*changes: str) -> int:
        arguments = [argument for change in changes for argument in ("--set", change)]
        done = longhaul("run", str(folder / "my_cc.yaml"), *arguments, "--json", home=tmp_path / "home")
        assert done.returncode == 0, done.stderr
        return int(json.loads(done.stdout)["runs"][0]["path"]["drops"])

    gentle = drops()
    steep = drops("flows.first.params={beta: 0.9, add: 8}", "flows.second.params={beta: 0.9, add: 8}")
    assert steep > 4 * gentle
    wrong = longhaul("plan", str(folder / "my_cc.yaml"), "--set", "flows.first.params={beta: 2}", home=tmp_path)
    assert wrong.returncode == 2
    assert "0.1 to 0.95" in wrong.stderr


def test_the_module_runs_on_the_other_kernel_too(folder: Path, tmp_path: Path) -> None:
    done = longhaul("modules", "check", str(folder), "--kernel", "6.1", home=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("cubic", "the name is taken"),
        ("Mine", "this cannot be the name"),
        ("../mine", "this cannot be the name"),
        ("a_name_that_is_too_long", "this cannot be the name"),
    ],
)
def test_an_invalid_name_is_refused(tmp_path: Path, name: str, what: str) -> None:
    done = longhaul("new-module", name, "--folder", str(tmp_path / "new"), home=tmp_path)
    assert done.returncode == 2
    assert what in done.stderr
    assert not (tmp_path / "new").exists()


def test_existing_files_are_not_overwritten(folder: Path, tmp_path: Path) -> None:
    (folder / "tcp_my_cc.c").write_text("mine")
    done = longhaul("new-module", "my_cc", "--folder", str(folder), home=tmp_path)
    assert done.returncode == 2
    assert (folder / "tcp_my_cc.c").read_text() == "mine"
