"""The command line as users see it: every verb has help, every mistake one sentence and the right exit code."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from longhaul.cli.main import app
from tests.support.command import longhaul, longhaul_anew
from tests.support.folders import REPOSITORY
from tests.support.programs import run_program

ROOT = get_command(app)
assert isinstance(ROOT, TyperGroup)
VERBS = [name for name, verb in ROOT.commands.items() if not verb.hidden]


def test_help_names_every_verb(tmp_path: Path) -> None:
    result = longhaul_anew("--help", home=tmp_path)
    assert result.returncode == 0
    assert all(verb in result.stdout for verb in VERBS)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["run", "nowhere"], 2, "neither a file nor a shipped experiment"),
        (["plan", "quick", "--set", "path.rtt=4"], 2, "path.rtt"),
        (["plan", "quick", "--backend", "moon"], 2, "moon"),
        (["run", "quick", "--backend", "moon"], 2, "known: hosts, mininet, sandbox"),
        (["plan", "quick", "--backend", "moon"], 2, "known: hosts, mininet, sandbox"),
        (["run", "quick", "--in", "guest"], 2, "--in guest is for the mininet backend"),
        (["run", "quick", "--clock", "real"], 2, "--clock real is for the mininet backend"),
        (["run", "quick", "--backend", "mininet", "--clock", "virtual"], 2, "cannot be virtual"),
        (["run", "quick", "--backend", "mininet", "--in", "cloud"], 2, "known: guest, host"),
        (["plan", "quick", "--backend", "mininet", "--in", "guest", "--clock", "slow"], 2, "known: real, virtual"),
        (["run", "quick", "--junit", "nowhere/a.xml"], 2, "there is no folder nowhere; create it first"),
        (["run", "quick", "--report", "a.pdf"], 2, "its ending is '.pdf'; use one of .html, .svg, .png"),
        (["run", "quick", "--report", "a.svg", "--server", "http://127.0.0.1:1"], 2, "name a .html file"),
        (["mininet", "nowhere"], 2, "neither a file nor a shipped experiment"),
        (["mininet", "--in", "cloud", "quick"], 2, "known: guest, host"),
        (["tune", "quick", "--param", "app.beta=600,700", "--for", "godput(app)"], 2, "nearest: goodput"),
        (["tune", "quick", "--param", "app.kp=1", "--for", "jain"], 2, "has no parameter 'kp'"),
        (["search", "quick", "--over", "path.rtt=1ms..2ms", "--claim", "goodput(app)"], 2, "a claim is a measure"),
        (["search", "quick", "--over", "path.rtt=1", "--claim", "jain >= 1"], 2, "the benign end first"),
        (["search", "quick", "--over", "path.rt=1ms..2ms", "--claim", "jain >= 1"], 2, "path.rt"),
        (["search", "aqm", "--over", "path.rtt=1ms..2ms", "--claim", "jain >= 1"], 2, "it has its own sweep"),
        (["show", "abc"], 2, "no kept run"),
        (["compare", "a", "b"], 2, "no kept run"),
        (["rerun", "abc"], 2, "no kept run"),
        (["export", "abc"], 2, "no kept run"),
        (["report", "abc"], 2, "no kept run"),
        (["show", "abc", "--csv"], 2, "no kept run"),
        (["explore", "abc"], 2, "no submitted experiment"),
        (["explore", "abc", "--flow", "app"], 2, "--flow: it chooses the series of --band"),
        (["explore", "abc", "--band", "cwnd", "--measure", "jain"], 2, "--measure: it is another question"),
        (["kernel", "build", "9.9"], 2, "known: 6.12, 6.1"),
        (["list", "stars"], 2, "stars"),
        (["fly"], 2, "fly"),
    ],
)
def test_a_mistake_gets_a_sentence_and_its_exit_code(tmp_path: Path, words: list[str], code: int, message: str) -> None:
    result = longhaul(*words, home=tmp_path)
    assert result.returncode == code, result.stderr
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_a_json_error_is_one_document(tmp_path: Path) -> None:
    result = longhaul("show", "abc", "--json", home=tmp_path)
    assert result.returncode == 2
    assert json.loads(result.stdout)["error"]["error"] == "NotFound"


def test_a_setting_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_JOBS", "many")
    result = longhaul("run", "quick", home=tmp_path)
    assert result.returncode == 2
    assert "LONGHAUL_JOBS" in result.stderr


@pytest.mark.parametrize("noun", ["experiments", "topologies", "modules", "presets", "measures", "backends"])
def test_lists_are_tables_or_json(tmp_path: Path, noun: str) -> None:
    assert json.loads(longhaul("list", noun, "--json", home=tmp_path).stdout)
    assert longhaul("list", noun, home=tmp_path).stdout


def test_hosts_are_listed_by_either_verb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_HOSTS", str(REPOSITORY / "playbooks/hosts.example.yml"))
    rows = json.loads(longhaul("list", "hosts", "--json", home=tmp_path).stdout)
    assert [row["host"] for row in rows] == ["hongkong", "chicago"]
    assert rows == json.loads(longhaul("hosts", "list", "--json", home=tmp_path).stdout)
    assert "500 Mbit/s" in longhaul("list", "hosts", home=tmp_path).stdout


def test_an_empty_list_prints_a_sentence(tmp_path: Path) -> None:
    assert "no runs yet" in longhaul("list", "runs", home=tmp_path).stdout


def test_a_missing_kernel_is_reported_with_the_command_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    result = longhaul("run", "quick", home=tmp_path)
    assert result.returncode == 3
    assert "run `longhaul kernel build 6.12`" in result.stderr
    assert longhaul("doctor", home=tmp_path).returncode == 3


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("longhaul mod", "modules"),
        ("longhaul new", "new-module"),
        ("longhaul modules b", "build"),
        ("longhaul run --repe", "--repeats"),
        ("longhaul run rtt-s", "rtt-sweep"),
    ],
)
def test_bash_completes(tmp_path: Path, typed: str, offered: str) -> None:
    """As bash completes, with the function that `docs/command-line.md` loads."""
    script = (
        'eval "$(_LONGHAUL_COMPLETE=source_bash longhaul)"; complete -p longhaul; COMP_WORDS=($1); '
        'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _longhaul_completion longhaul; echo "${COMPREPLY[*]}"'
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LONGHAUL_HOME": str(tmp_path)}
    done = run_program(["bash", "-c", script, "bash", typed], env=environment, check=True)
    function, replies = done.stdout.splitlines()[0], done.stdout.splitlines()[1:]
    assert function.endswith("-F _longhaul_completion longhaul")
    assert offered in " ".join(replies).split()


def test_groff_reads_the_manual_page_without_warnings() -> None:
    page = REPOSITORY / "docs" / "longhaul.1"
    done = run_program(["man", "--warnings", "-l", str(page)], env={**os.environ, "MANPAGER": "cat"}, check=True)
    assert done.stderr == ""
    plain = " ".join(done.stdout.replace("\N{HYPHEN}", "-").split())
    assert all(f"longhaul {verb}" in plain for verb in VERBS)
