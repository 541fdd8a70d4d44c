"""The documentation matches the code: generated pages are fresh, the names in them exist. Commands and links: test_pages.py."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from longhaul.cli.main import app
from tests.support.pages import PAGES

REPOSITORY = Path(__file__).resolve().parents[2]
GENERATED = runpy.run_path(str(REPOSITORY / "docs" / "generate.py"))["pages"]()


@pytest.mark.parametrize("name", GENERATED)
def test_a_generated_page_is_fresh(name: str) -> None:
    assert (REPOSITORY / "docs" / name).read_text() == GENERATED[name], "run `make docs`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_targets_and_verbs_that_are_named_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    text = page.read_text()
    assert set(re.findall(r"(?:^ +|`)make ([a-z][a-z-]*)", text, re.MULTILINE)) <= targets
    assert set(re.findall(r"(?:^ +|`)(?:\.venv/bin/)?longhaul ([a-z][a-z-]*)", text, re.MULTILINE)) <= set(
        root.commands
    )


def test_every_fidelity_check_is_documented() -> None:
    text = (REPOSITORY / "docs" / "fidelity.md").read_text()
    code = (REPOSITORY / "orchestrator" / "analysis" / "fidelity" / "checks.py").read_text()
    for name in set(re.findall(r'Check\(\s*"([^"]+)"', code)) - {"flow"}:
        assert f"| {name} |" in text, name


def test_every_patch_of_the_guests_kernel_is_documented() -> None:
    text = (REPOSITORY / "docs" / "sandbox-kernel.md").read_text()
    folder = REPOSITORY / "kmod" / "sandbox" / "patches"
    patches = sorted(file.name.removesuffix(".patch") for file in folder.glob("*.patch"))
    assert re.findall(r"^\| `(\d{4}-[\w.-]+)` \|", text, re.MULTILINE) == patches


def test_every_folder_of_the_pages_sources_is_documented() -> None:
    text = (REPOSITORY / "docs" / "web.md").read_text()
    folders = {one.name for one in (REPOSITORY / "dashboards" / "web" / "src").iterdir() if one.is_dir()}
    assert set(re.findall(r"^\| `(\w+)/` \|", text, re.MULTILINE)) == folders


def test_every_setting_is_documented_where_it_is_read() -> None:
    code = (REPOSITORY / "orchestrator" / "system" / "settings.py").read_text()
    text, _, body = code.partition('"""\n\nfrom __future__')
    for name in set(re.findall(r"LONGHAUL_[A-Z_]+", body)):
        assert name in text
