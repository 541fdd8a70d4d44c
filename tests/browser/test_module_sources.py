"""User-supplied modules on the page: an admin uploads a folder, reads why a module does not build, compares versions, and launches a control."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor
from tests.support.own_controls import reno_source
from tests.support.service import Service, served

# No cache has a source of it.
SOFT = f"soft{secrets.token_hex(4)}"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("sources"), LONGHAUL_USER_CODE="on") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a good and a broken control, and files that no build reads."""
    made = tmp_path / "controls"
    (made / "doc").mkdir(parents=True)
    (made / "doc" / "my notes (2).txt").write_text("not a source\n")
    (made / "Makefile").write_text("obj-m := soft.o hard.o\nccflags-y += -DFLOOR=4\n")
    (made / "soft.c").write_text(reno_source(SOFT).replace("2U)", "(u32)FLOOR)"))
    (made / "hard.c").write_text(reno_source("hard", more="int x = missing_word;\n"))
    return made


def test_a_folder_is_uploaded_built_compared_and_launched(visitor: Visitor, folder: Path) -> None:
    page = visitor.page
    visitor.logs_in("admin", "lab/modules")
    page.get_by_label("Folder", exact=True).set_input_files(folder)
    kernel = page.get_by_role("region", name="Kernel 6.12", exact=True)
    expect(kernel).to_contain_text(f"built soft {SOFT}", timeout=120_000)
    expect(kernel).to_contain_text("it uses missing_word")
    kernel.get_by_text("Build log").first.click()
    expect(kernel).to_contain_text("error:")
    visitor.pictures("lab-module-sources")
    (folder / "soft.c").write_text((folder / "soft.c").read_text().replace("= 512;", "= 700;"))
    page.get_by_label("Folder", exact=True).set_input_files(folder)
    rows = page.get_by_role("table", name="Sources of modules").locator("tbody tr")
    expect(rows.filter(has_text=SOFT)).to_have_count(2)
    page.get_by_role("group", name="View of the source").get_by_text("Changes", exact=True).click()
    expect(page.get_by_text("+static int keep __read_mostly = 700;")).to_be_visible()
    page.get_by_role("group", name="View of the source").get_by_text("Files", exact=True).click()
    page.get_by_text("Makefile", exact=True).click()
    expect(page.get_by_text("ccflags-y += -DFLOOR=4")).to_be_visible()
    page.get_by_role("group", name="View of the source").get_by_text("Builds", exact=True).click()
    kernel.get_by_role("button", name="Run trials on 6.12").click(timeout=120_000)
    expect(kernel.get_by_role("link", name=f"trial of {SOFT}")).to_be_visible()
    kernel.get_by_role("button", name=f"Launch with {SOFT}").click()
    page.get_by_role("button", name=re.compile(r"^Launch( Ctrl ⏎)?$")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile(f"with-{SOFT}.*done"), timeout=60_000)


def test_others_do_not_see_the_sources(visitor: Visitor) -> None:
    visitor.logs_in("run", "lab/modules")
    expect(visitor.page.get_by_role("table", name="Congestion controls")).to_be_visible()
    expect(visitor.page.get_by_text("User-supplied modules")).to_have_count(0)
