"""In and out: the first visit, the session that stays, keys, the theme, and what a wrong token is told."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.views import settle
from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service


def test_the_first_visit_takes_a_token_and_leads_where_one_wanted(visitor: Visitor) -> None:
    page = visitor.page
    visitor.opens("papers?sort=-year")
    expect(page.get_by_role("heading", name="Longhaul")).to_be_visible()
    expect(page.get_by_text("longhaul token add")).to_be_visible()
    visitor.pictures("entrance")
    visitor.shows_token(visitor.service.tokens["run"])
    expect(page.get_by_role("link", name="Papers")).to_have_attribute("aria-current", "page")
    assert page.url.endswith("#/papers?sort=-year")
    # The token is kept nowhere that a script could read.
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")
    assert "lh_" not in kept
    page.reload()
    expect(page.get_by_role("link", name="Papers")).to_be_visible()
    expect(page.get_by_label("runer, scope run")).to_be_visible()


def test_logging_out_ends_the_session_for_good(visitor: Visitor) -> None:
    page = visitor.page
    visitor.logs_in("run")
    cookies = page.context.cookies()
    page.get_by_label("runer, scope run").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()
    with visitor.service.client(None, cookies={one["name"]: one["value"] for one in cookies}) as thief:
        assert thief.get(f"{ROOT}/session").status_code == 401


def test_a_wrong_token_is_told_what_to_do(visitor: Visitor) -> None:
    page = visitor.page
    visitor.opens()
    visitor.shows_token("lh_0123456789ab_" + "x" * 43)
    with visitor.service.client(None) as client:
        said = client.post(f"{ROOT}/session", json={"token": "lh_0123456789ab_" + "x" * 43}).json()
    assert said["hint"]
    expect(page.get_by_role("alert")).to_contain_text(said["title"])
    expect(page.get_by_role("alert")).to_contain_text(said["hint"])
    visitor.pictures("entrance-refused")
    visitor.shows_token(visitor.service.tokens["read"])
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_a_session_that_ends_meanwhile_leaves_the_page_where_it_was(visitor: Visitor, service: Service) -> None:
    page = visitor.page
    token = service.make_token("short", "run")
    visitor.opens("runs?status=done")
    visitor.shows_token(token)
    expect(page.get_by_label("short, scope run")).to_be_visible()
    # What it still asks for would tell it of the end.
    settle(page)
    with service.client() as admin:
        assert admin.delete(f"{ROOT}/tokens/short").status_code == 200
    with service.away():
        page.get_by_label("short, scope run").click()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("alert")).to_contain_text("The service cannot be reached")
        expect(page.get_by_role("status").first).to_contain_text("Service away")
    expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    visitor.shows_token(service.tokens["run"])
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("runer, scope run")).to_be_visible()
    assert page.url.endswith("#/runs?status=done")


def test_keys_lead_everywhere_and_the_sheet_lists_them(visitor: Visitor) -> None:
    page = visitor.page
    visitor.logs_in("read", "launch")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("link", name="Runs")).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(page.get_by_role("link", name="Launch")).to_have_attribute("aria-current", "page")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keys")
    expect(sheet).to_contain_text("Go to Compare")
    visitor.pictures("keys")
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)


def test_the_theme_is_the_systems_until_one_chooses(visitor: Visitor) -> None:
    page = visitor.page
    visitor.chooses("dark")
    visitor.logs_in("read")
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "dark")
    visitor.chooses("light")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_label("reader, scope read").click()
    page.get_by_text("Dark", exact=True).click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(root).to_have_attribute("data-theme", "dark")


def test_an_address_that_leads_nowhere_says_so(visitor: Visitor) -> None:
    visitor.logs_in("read", "nowhere/at/all")
    expect(visitor.page.get_by_role("heading", name="Nothing is here")).to_be_visible()


def test_a_phone_sees_every_page(passer_by: Visitor) -> None:
    page = passer_by.page
    passer_by.logs_in("read", "runs")
    passer_by.pictures("phone")
    for name in ("Launch", "Runs", "Compare", "Papers", "Lab"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("link", name=name, exact=True)).to_have_attribute("aria-current", "page")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
