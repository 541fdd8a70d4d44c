"""What users bring, on the page.

An admin uploads the folder of a module, reads why it does not build, compares versions, and launches a control. A recording of a link is
dropped and drawn, an experiment replays it, and its run shows the capacity; a model needs no file.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser.axe import breaches
from tests.browser.views import settle
from tests.browser.visitor import Visitor
from tests.support.own_controls import reno_source
from tests.support.service import Service, cache_without, served

# No cache has a source of it.
SOFT = f"soft{secrets.token_hex(4)}"
# 12 Mbit/s of IP packets, with an outage of a second in the middle of four.
MAHI = "".join(f"{ms}\n" for ms in [*range(1, 1501), *range(2501, 4001)])
_LAUNCH = re.compile(r"^Launch( Ctrl ⏎)?$")
# Drops a file as a user does with the pointer.
_DROP = """(zone, [name, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name));
    for (const kind of ["dragover", "drop"])
        zone.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("uploads")
    cache = cache_without(folder, "recordings")
    with served(folder / "home", LONGHAUL_USER_CODE="on", LONGHAUL_CACHE=str(cache)) as running:
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
    # The list that the page asked for before the upload arrives after it.
    lists: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if lists or route.request.method != "GET":
            route.continue_()
        else:
            lists.append((route, route.fetch()))

    visitor.page.route("**/api/v1/module-sources", hold)
    page = visitor.logs_in("admin", "lab/modules")
    with page.expect_response(
        lambda answer: answer.request.method == "POST" and answer.url.endswith("/module-sources")
    ):
        page.get_by_label("Folder", exact=True).set_input_files(folder)
    # The response to the list may still be on its way to this process.
    for _ in range(200):
        if lists:
            break
        page.wait_for_timeout(100)
    route, before = lists[0]
    route.fulfill(response=before)
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


def drop(page: Page, name: str, text: str) -> None:
    """Drop a file where recordings are sent."""
    page.get_by_label("File of a recording").locator("xpath=ancestor::*[@data-over]").evaluate(_DROP, [name, text])


def draft(page: Page) -> dict[str, object]:
    found = yaml.safe_load(page.evaluate("JSON.parse(localStorage.getItem('longhaul.draft')).text"))
    assert isinstance(found, dict)
    return found


def test_a_dropped_file_is_drawn_launched_and_its_capacity_is_beside_the_goodput(visitor: Visitor) -> None:
    page = visitor.logs_in("admin", "lab/recordings")
    expect(page.get_by_text("No recording was sent.")).to_be_visible()
    drop(page, "broken.mahi", "1\n2;3\n")
    expect(page.get_by_role("alert")).to_contain_text("line 2, column 2: '2;3' is not a whole number of milliseconds")
    drop(page, "my cell.mahi", MAHI)
    section = page.get_by_role("region", name="my cell.mahi")
    expect(section.get_by_role("figure", name="Capacity")).to_be_visible()
    expect(section).to_contain_text("Mean capacity9 Mbit/s")
    expect(section).to_contain_text("Outages1, the longest 1.001 s")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("table", name="Recordings").locator("tbody tr")).to_have_count(1)
    settle(page)
    assert breaches(page) == []
    visitor.pictures("lab-recordings")
    section.get_by_role("button", name="Launch with it").click()
    fields = page.get_by_role("region", name="Path", exact=True)
    expect(fields.get_by_label("Recording", exact=True)).to_have_value(re.compile("^sha256:[0-9a-f]{64}$"))
    expect(fields.get_by_role("figure", name="Capacity")).to_be_visible()
    page.get_by_label("Duration").fill("8 s")
    settle(page)
    assert breaches(page) == []
    fields.get_by_role("figure", name="Capacity").scroll_into_view_if_needed()
    visitor.pictures("launch-recording")
    page.get_by_role("button", name=_LAUNCH).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(re.compile("recorded.*done"), timeout=120_000)
    goodput = page.get_by_role("figure", name="Goodput")
    expect(goodput).to_be_visible()
    with page.expect_download() as download:
        goodput.get_by_label("Save Goodput").click()
        goodput.get_by_role("button", name="SVG").click()
    assert "recorded capacity, mean 9.08" in Path(download.value.path()).read_text()
    page.keyboard.press("Escape")
    settle(page)
    visitor.pictures("run-recording")


def test_a_model_is_chosen_changed_and_taken_back_in_the_form(visitor: Visitor) -> None:
    page = visitor.logs_in("run", "launch")
    fields = page.get_by_role("region", name="Path", exact=True)
    fields.get_by_text("Recorded link", exact=True).click()
    fields.get_by_label("Recording", exact=True).select_option("leo")
    expect(fields.get_by_role("figure", name="Delay")).to_be_visible()
    assert draft(page)["path"] == {"recording": {"model": "leo"}, "rtt": "40 ms", "buffer": "1 BDP"}
    fields.get_by_label("Recording", exact=True).select_option("lte")
    fields.get_by_label("snr_db", exact=True).fill("-5")
    expect(fields.get_by_role("figure", name="Capacity")).to_be_visible()
    fields.get_by_label("snr_db", exact=True).fill("300")
    expect(fields).to_contain_text("snr_db is 300")
    fields.get_by_label("snr_db", exact=True).fill("20")
    fields.get_by_label("Offset").fill("drawn")
    expect(fields.get_by_role("figure", name="Capacity")).to_be_visible()
    settle(page)
    fields.get_by_role("figure", name="Capacity").scroll_into_view_if_needed()
    visitor.pictures("launch-model")
    expect(page.get_by_role("button", name=_LAUNCH)).to_be_enabled()
    assert draft(page)["path"] == {
        "recording": {"model": "lte", "parameters": {"snr_db": 20}, "offset": "drawn"},
        "rtt": "40 ms",
        "buffer": "1 BDP",
    }
    fields.get_by_label("Recording", exact=True).select_option("")
    assert draft(page)["path"] == {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"}
    expect(page.get_by_role("button", name=_LAUNCH)).to_be_enabled()


def test_readers_see_recordings_and_send_none(visitor: Visitor, service: Service, tmp_path: Path) -> None:
    (tmp_path / "kept.mahi").write_text("1\n2\n")
    with service.programs_client("run") as client:
        client.send_recording(tmp_path / "kept.mahi")
    visitor.logs_in("read", "lab/recordings")
    expect(visitor.page.get_by_role("button", name="kept.mahi")).to_be_visible()
    expect(visitor.page.get_by_label("File of a recording")).to_have_count(0)
    expect(visitor.page.get_by_role("button", name="Delete kept.mahi")).to_have_count(0)
