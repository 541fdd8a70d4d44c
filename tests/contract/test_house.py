"""Rules of the project that no linter checks: confinement, sizes, and no trace of one machine."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.support.programs import run_program

REPOSITORY = Path(__file__).resolve().parents[2]
TRACKED = [
    REPOSITORY / name
    for name in run_program(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=REPOSITORY, check=True
    ).stdout.splitlines()
    if (REPOSITORY / name).is_file()
]
TEXTS = [file for file in TRACKED if file.suffix not in (".bin", ".png")]
PYTHON = [file for file in TRACKED if file.suffix == ".py" and "tests" not in file.parts]

# Where a third party may be imported: everywhere else the module that wraps it is used.
CONFINED = {
    "subprocess": {
        "orchestrator/system/process.py",
        "orchestrator/backends/mininet_programs/mininet_net.py",
        # This module is copied to hosts without the others.
        "playbooks/module_utils/longhaul_host.py",
    },
    "os.environ": {
        "orchestrator/system/settings.py",
        "orchestrator/system/process.py",
        # The width of the terminal, before any setting is read.
        "longhaul/cli/root_help.py",
        # A setting of pydantic, before it is loaded.
        "longhaul/__main__.py",
        # A program of its own, in a guest.
        "orchestrator/backends/mininet_programs/mininet_script.py",
    },
    "sqlalchemy": {"orchestrator/database"},
    "pyarrow": {"longhaul/results/frames.py", "orchestrator/recorded_links/parquet.py"},
    "mininet": {
        "topologies",
        "orchestrator/backends/mininet_programs/mininet_net.py",
        "orchestrator/backends/mininet_programs/mininet_prompt.py",
        "orchestrator/backends/mininet_programs/mininet_script.py",
        "tests/data/mininet",
    },
    "optuna": {"orchestrator/analysis/search/sampling.py"},
    "distributed": {"orchestrator/execution/cluster"},
    "dask": {"orchestrator/execution/cluster"},
    "ansible": {"playbooks/action_plugins", "playbooks/library"},
    "ansible_runner": {"orchestrator/execution/deployment.py"},
    "httpx": {
        "longhaul/client/connection.py",
        "orchestrator/live/remote_write.py",
        "orchestrator/live/grafana_annotations.py",
    },
    "cramjam": {
        "orchestrator/live/remote_write.py",
        "orchestrator/results/parquet.py",
        "orchestrator/results/parquet_reader.py",
        "orchestrator/trace/captures.py",
        "orchestrator/trace/pcap.py",
    },
    "grafana_foundation_sdk": {"dashboards/grafana/boards"},
    "matplotlib": {"orchestrator/analysis/figures", "orchestrator/papers/drawings"},
}


@pytest.mark.parametrize("word", CONFINED)
def test_third_parties_stay_where_they_are_wrapped(word: str) -> None:
    pattern = re.compile(rf"^\s*(import|from) {word}\b" if word != "os.environ" else r"os\.environ\b", re.MULTILINE)
    users = {str(file.relative_to(REPOSITORY)) for file in PYTHON if pattern.search(file.read_text())}
    strangers = {user for user in users if not any(user.startswith(place) for place in CONFINED[word])}
    assert strangers == set()


def test_migrations_import_no_project_code() -> None:
    """A migration that imports code of the project would change with that code."""
    pattern = re.compile(r"^\s*(import|from) (orchestrator|api|topologies)\b", re.MULTILINE)
    versions = [file for file in PYTHON if file.parent.name == "versions" and file.parent.parent.name == "migrations"]
    assert len(versions) > 1
    assert {file.name for file in versions if pattern.search(file.read_text())} == set()


def test_no_python_module_is_too_long() -> None:
    assert {str(file): n for file in PYTHON if (n := len(file.read_text().splitlines())) > 400} == {}


def test_every_module_is_in_a_room() -> None:
    """A newcomer finds things by folder and file name alone."""
    assert [file.name for file in (REPOSITORY / "orchestrator").glob("*.py")] == ["__init__.py"]
    python = [file for file in TRACKED if file.suffix == ".py"]
    counted = Counter(file.parent.relative_to(REPOSITORY).as_posix() for file in python)
    assert {folder: n for folder, n in counted.items() if n > 25} == {}
    assert sum(n < 15 for n in counted.values()) > len(counted) / 2


def test_the_contract_of_imports_covers_every_room_in_few_rows() -> None:
    (contract, *_) = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert len(contract["layers"]) <= 16
    rooms = {name for layer in contract["layers"] for name in re.split(r" [|:] ", layer)}
    there = {
        f"longhaul.orchestrator.{init.parent.name}" for init in (REPOSITORY / "orchestrator").glob("*/__init__.py")
    }
    there |= {f"longhaul.{init.parent.name}" for init in (REPOSITORY / "longhaul").glob("*/__init__.py")}
    assert there - {"longhaul.orchestrator"} <= rooms


def test_a_module_that_a_text_names_exists() -> None:
    """Also in docstrings and comments: after a move, an old path leads nowhere."""
    tops = ("", "orchestrator", "api", "longhaul")
    rooms = {init.parent.name for init in REPOSITORY.glob("orchestrator/*/__init__.py")} | {
        "orchestrator",
        "api",
        "longhaul",
    }
    named = re.compile(rf"(?<![\w/])(?:{'|'.join(sorted(rooms))})/[\w/]+\.py\b")
    missing = {
        f"{file.relative_to(REPOSITORY)}: {path}"
        for file in PYTHON
        for path in named.findall(file.read_text())
        if not any((REPOSITORY / top / path).exists() for top in tops)
    }
    assert missing == set()


@pytest.mark.parametrize("file", [file for file in TRACKED if file.suffix in (".c", ".h")], ids=lambda file: file.name)
def test_every_c_file_begins_with_a_comment(file: Path) -> None:
    assert file.read_text().lstrip().startswith(("/*", "//"))


def test_nothing_names_a_machine_or_a_registry() -> None:
    foreign = re.compile(r"/root/|/work/|/home/[a-z]+/|files\.pythonhosted|index-url|registry\.npmjs")
    here = Path(__file__)
    found = {
        f"{file.relative_to(REPOSITORY)}: {match[0]}"
        for file in TEXTS
        if file != here and (match := foreign.search(file.read_text(errors="replace")))
    }
    assert found == set()


def test_every_make_target_is_in_the_help() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    phony = set(re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)[0].split())
    documented = set(re.findall(r"^([a-z-]+):.*#[#-] ", makefile, re.MULTILINE))
    assert phony - documented == set()


def test_every_test_belongs_to_a_target_of_make() -> None:
    """A folder that no target names would never run."""
    written = (REPOSITORY / "Makefile").read_text()
    named = re.findall(r"(?<![\w/])tests/[\w/.*]+", written)
    for file in (REPOSITORY / "tests").rglob("test_*.py"):
        path = file.relative_to(REPOSITORY).as_posix()
        assert any(fnmatch(path, one) or path.startswith(f"{one}/") for one in named), path
