"""A result is shared by a link: made on its page, opened without an account, listed and revoked."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.visitor import DESK, PHONE, Visitor
from tests.support.service import ROOT, Service


def _make(visitor: Visitor, view: str, name: str) -> str:
    """A link, made with the page of a result."""
    page = visitor.page
    visitor.opens(view)
    page.get_by_role("button", name="Share", exact=True).click()
    dialog = page.get_by_role("dialog", name=f"Share {name}")
    dialog.get_by_label("Expires after").select_option("7 days")
    dialog.get_by_role("button", name="Make the link").click()
    link = dialog.get_by_test_id("share").inner_text()
    dialog.get_by_role("button", name="Close").click()
    return link


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_shared_run_is_read_without_an_account(
    browser: Browser, visitor: Visitor, kept: Service, size: dict[str, int]
) -> None:
    visitor.enters("run")
    link = _make(visitor, f"runs/{kept.run}", "this run")
    with Visitor.comes(browser, kept, viewport=size) as guest:
        page = guest.page
        page.goto(link)
        expect(page.get_by_text("A shared result, read only")).to_be_visible()
        assert page.url.endswith(f"#/runs/{kept.run}")
        expect(page.get_by_role("figure", name="Congestion window")).to_be_visible()
        expect(page.get_by_role("table", name="Flows")).to_be_visible()
        expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
        for name in ("Share", "Rerun", "Pin", "Capture"):
            expect(page.get_by_role("button", name=name, exact=True)).to_have_count(0)
        page.get_by_text("States", exact=True).click()
        expect(page.get_by_role("figure", name=re.compile("^States of app"))).to_be_visible()
        expect(page.get_by_role("alert")).to_have_count(0)
        report = page.get_by_role("link", name="Report", exact=True).get_attribute("href")
        assert page.request.get(f"{kept.url}{report}").ok
        guest.pictures(f"shared-run-{size['width']}")
        # The rest of the lab is closed, in words.
        guest.opens("runs")
        expect(page.get_by_role("alert")).to_contain_text("this link shows one result")


def test_a_shared_experiment_and_a_comparison_are_read_whole(browser: Browser, visitor: Visitor, kept: Service) -> None:
    made = kept.wait(kept.submit({"shipped": "quick", "set": ["duration=2 s"], "repeats": 2})["id"])
    runs = [run.rpartition("/")[2] for run in made["runs"]]
    visitor.enters("run")
    experiment = _make(visitor, f"experiments/{made['id']}", "this experiment")
    comparison = _make(visitor, f"compare?runs={','.join(runs)}", "this comparison")
    with Visitor.comes(browser, kept) as guest:
        guest.page.goto(experiment)
        expect(guest.page.get_by_role("table", name="Runs")).to_be_visible()
        expect(guest.page.get_by_role("table", name="Summary")).to_be_visible()
        expect(guest.page.get_by_role("alert")).to_have_count(0)
        guest.page.get_by_role("link", name="Explore").click()
        expect(guest.page.get_by_role("figure", name="Congestion window over repeats")).to_contain_text(
            "mean of 2 runs"
        )
        guest.page.go_back()
        guest.page.get_by_role("link", name="Open the run").click()
        expect(guest.page.get_by_role("table", name="Flows")).to_be_visible()
        expect(guest.page.get_by_role("alert")).to_have_count(0)
    with Visitor.comes(browser, kept) as guest:
        guest.page.goto(comparison)
        expect(guest.page.get_by_role("figure", name="Congestion window")).to_be_visible()
        guest.page.get_by_text("Differences", exact=True).click()
        expect(guest.page.get_by_role("table").first).to_be_visible()
        expect(guest.page.get_by_role("alert")).to_have_count(0)


def test_a_revoked_link_is_over_and_says_so(browser: Browser, visitor: Visitor, kept: Service) -> None:
    page = visitor.page
    visitor.enters("run")
    link = _make(visitor, f"runs/{kept.run}", "this run")
    with Visitor.comes(browser, kept) as guest:
        guest.page.goto(link)
        expect(guest.page.get_by_role("table", name="Flows")).to_be_visible()
        visitor.opens("lab/shares")
        row = page.get_by_role("row").filter(has_text=f"Run {kept.run[:8]}").first
        row.get_by_role("button", name=re.compile("Revoke")).click()
        expect(row).to_contain_text("revoked")
        visitor.pictures("shares")
        guest.page.reload()
        expect(guest.page.get_by_label("Token")).to_be_visible()
        guest.page.goto("about:blank")
        guest.page.goto(link)
        expect(guest.page.get_by_role("alert")).to_contain_text("This token is not valid")


def test_a_user_of_the_lab_keeps_the_own_session(visitor: Visitor, kept: Service) -> None:
    with kept.client("run") as client:
        share = client.post(f"{ROOT}/shares", json={"runs": [kept.run]}).json()
    visitor.enters("run")
    visitor.page.goto(share["link"])
    expect(visitor.page.get_by_role("table", name="Flows")).to_be_visible()
    expect(visitor.page.get_by_label("runer, scope run")).to_be_visible()
    assert "token" not in visitor.page.url
