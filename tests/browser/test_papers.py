"""Papers: figures without runs, running a figure, its verdicts and its charts."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service, served

# Two runs of a second each, three claims that agree.
PAPER, FIGURE = "agilesd", "fig4"
# The button contains an estimate too.
RUN = re.compile("^Run ?\\d")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("papers") / "home") as running:
        yield running


def test_gallery_marks_figures_without_runs(visitor: Visitor) -> None:
    page = visitor.logs_in("read", "papers")
    card = page.get_by_role("listitem").filter(has=page.get_by_role("link", name=FIGURE, exact=True)).first
    expect(card).to_contain_text("not run")
    expect(card.get_by_role("button")).to_have_count(0)
    # A picture of its experiment before it was run, and a citation with its DOI.
    expect(card.locator("svg").first).to_be_visible()
    expect(page.get_by_role("link", name="doi:10.1016/j.jnca.2015.05.011")).to_be_visible()
    visitor.pictures("papers")
    page.get_by_label("Search").fill("agilesd epoch")
    expect(page.get_by_role("link", name=FIGURE, exact=True)).to_have_count(1)
    page.get_by_label("Search").fill("matches nothing")
    expect(page.get_by_role("heading", name="No figure matches")).to_be_visible()
    page.get_by_text("Packs", exact=True).click()
    page.get_by_label("Search").fill("rfc9743")
    expect(page.get_by_role("link", name="feedback", exact=True)).to_be_visible()


def test_figure_is_run_and_gets_verdicts(visitor: Visitor) -> None:
    page = visitor.logs_in("run", f"papers/{PAPER}/{FIGURE}")
    expect(page.get_by_role("heading", name="Not run yet")).to_be_visible()
    claims = page.get_by_role("table", name="Claims")
    expect(claims.get_by_role("row").filter(has_text="not run")).to_have_count(3)
    expect(claims).to_contain_text("41.66 ms")
    visitor.pictures("figure-not-run")
    page.get_by_role("button", name=RUN).click()
    expect(claims.get_by_role("row").filter(has_text="agrees")).to_have_count(3)
    expect(page.get_by_text("2 of 2 runs kept")).to_be_visible()
    expect(page.get_by_role("button", name=RUN)).to_have_count(0)
    # An image that the browser refused or could not draw has no width.
    picture = page.get_by_role("figure").get_by_role("img").first
    expect(picture).to_be_visible()
    page.wait_for_function("[...document.querySelectorAll('figure img')].every((one) => one.naturalWidth > 100)")
    visitor.pictures("figure")
    # Every measured value links to its runs.
    claims.get_by_role("link").first.click()
    expect(page.get_by_role("table", name="Runs").locator("tbody tr")).to_have_count(1)
    visitor.opens("papers")
    expect(page.get_by_text("3 agrees")).to_be_visible()


def test_scope_read_cannot_run_a_figure(visitor: Visitor) -> None:
    page = visitor.logs_in("read", "papers/rfc9743/feedback")
    expect(page.get_by_role("table", name="Claims")).to_be_visible()
    expect(page.get_by_role("button", name=RUN)).to_have_count(0)
    assert visitor.is_answered("POST", "reproductions/rfc9743/feedback", {}) == 403
    with visitor.service.client() as client:
        assert client.get(f"{ROOT}/experiments", params={"name": "rfc9743-feedback"}).json()["items"] == []


def test_unknown_figure_suggests_the_nearest(visitor: Visitor) -> None:
    visitor.logs_in("read", f"papers/{PAPER}/fig44")
    expect(visitor.page.get_by_role("main")).to_contain_text("nearest: fig4")
