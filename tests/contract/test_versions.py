"""The version is in pyproject.toml; files that cannot read it, the list of changes and the tags agree with it."""

from __future__ import annotations

import json
import re
import tomllib
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from longhaul.cli.main import app
from tests.support.programs import run_program

REPOSITORY = Path(__file__).resolve().parents[2]
VERSION: str = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
CHANGES = (REPOSITORY / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("file", "pattern"),
    [
        ("orchestrator/agent/system/version.h", r'AGENT_VERSION "([^"]+)"'),
        ("Dockerfile", r'image\.version="([^"]+)"'),
        ("CITATION.cff", r"(?m)^version: (\S+)$"),
    ],
)
def test_every_file_has_the_same_version(file: str, pattern: str) -> None:
    assert set(re.findall(pattern, (REPOSITORY / file).read_text())) == {VERSION}


def test_the_command_prints_it() -> None:
    assert CliRunner().invoke(app, ["--version"]).output == f"longhaul {VERSION}\n", (
        "reinstall: touch pyproject.toml, make"
    )


def test_the_service_reports_it() -> None:
    assert json.loads((REPOSITORY / "docs/openapi.json").read_text())["info"]["version"] == VERSION


def test_the_list_of_changes_includes_it() -> None:
    """Each release has a heading with its day; the newest comes first, after the unreleased changes."""
    first, *released = re.findall(r"^## (.*)$", CHANGES, re.MULTILINE)
    assert first == "Unreleased"
    versions = [re.fullmatch(r"(\d+\.\d+\.\d+) - \d{4}-\d{2}-\d{2}", heading) for heading in released]
    assert all(versions), released
    numbers = [_number(one[1]) for one in versions if one]
    assert all(later > earlier for later, earlier in pairwise(numbers))
    assert all(number <= _number(VERSION) for number in numbers)


def test_every_tag_is_a_version_with_its_changes() -> None:
    for tag in _git("tag", "--list", "v*"):
        assert f"## {tag.removeprefix('v')} - " in CHANGES, tag
    for tag in _git("tag", "--list", "v*", "--points-at", "HEAD"):
        assert tag == f"v{VERSION}"


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def _git(*words: str) -> list[str]:
    return run_program(["git", *words], cwd=REPOSITORY, check=True).stdout.split()
