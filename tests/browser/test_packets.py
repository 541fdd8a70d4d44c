"""On the page of a run: its packets, captured by a form, and the list of its moments, which zooms the charts."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.axe import breaches
from tests.browser.visitor import Visitor
from tests.support.service import Service


def test_packets_are_captured_and_downloaded(visitor: Visitor, service: Service) -> None:
    ended = service.wait(service.submit({"shipped": "quick", "set": ["duration=3 s"]})["id"])
    run = ended["runs"][0].rpartition("/")[2]
    page = visitor.logs_in("run", f"runs/{run}")
    packets = page.get_by_role("region", name="Packets")
    expect(packets).to_contain_text("The run has no packets yet")
    packets.get_by_label("Places").fill("nowhere")
    packets.get_by_role("button", name="Capture").click()
    expect(packets.get_by_role("alert")).to_contain_text("the run has no host, link or device nowhere; known: all")
    packets.get_by_label("Places").fill("bottleneck, a1")
    packets.get_by_label("Flow").select_option("app")
    packets.get_by_role("button", name="Capture").click()
    link = packets.get_by_role("link", name="capture.pcapng.zst")
    expect(link).to_be_visible(timeout=60_000)
    with page.expect_download() as download:
        link.click()
    assert download.value.suggested_filename == f"{run}-capture.pcapng.zst"
    assert breaches(page) == []
    # The run captured packets without becoming another one.
    expect(page.get_by_role("list", name="Reruns")).to_contain_text("identical")


def test_a_moment_shows_the_charts_around_it(visitor: Visitor, kept: Service) -> None:
    page = visitor.logs_in("read", f"runs/{kept.run}")
    moments = page.get_by_role("region", name="Moments")
    expect(moments.get_by_role("status")).to_have_text(re.compile(r"In the whole run: \d+"))
    expect(moments.get_by_role("list")).to_contain_text("app begins")
    moments.get_by_label("Kind of moment").select_option("drop")
    first = moments.get_by_role("button").first
    expect(first).to_have_text(re.compile(r"^\d\.\d{6} s$"))
    expect(moments.get_by_role("list")).not_to_contain_text("app begins")
    all_text = moments.get_by_role("status").inner_text()
    first.click()
    expect(moments.get_by_role("status")).to_have_text(re.compile(r"In the shown part: \d+"))
    assert moments.get_by_role("status").inner_text() != all_text
    expect(page).to_have_url(re.compile("at="))
