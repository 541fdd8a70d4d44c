"""Login and logout: the first visit, the session, keys, the theme, and the error for a wrong token."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.views import settle
from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service


def test_first_visit_asks_for_a_token_and_opens_the_requested_view(visitor: Visitor) -> None:
    page = visitor.page
    visitor.opens("papers?sort=-year")
    expect(page.get_by_role("heading", name="Longhaul")).to_be_visible()
    expect(page.get_by_text("longhaul token add")).to_be_visible()
    visitor.pictures("entrance")
    visitor.shows_token(visitor.service.tokens["run"])
    expect(page.get_by_role("link", name="Papers")).to_have_attribute("aria-current", "page")
    assert page.url.endswith("#/papers?sort=-year")
    # No script can read the token.
    kept = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")
    assert "lh_" not in kept
    page.reload()
    expect(page.get_by_role("link", name="Papers")).to_be_visible()
    expect(page.get_by_label("runer, scope run")).to_be_visible()


def test_logout_ends_the_session(visitor: Visitor) -> None:
    page = visitor.logs_in("run")
    cookies = page.context.cookies()
    page.get_by_label("runer, scope run").click()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Token")).to_be_visible()
    with visitor.service.client(None, cookies={one["name"]: one["value"] for one in cookies}) as thief:
        assert thief.get(f"{ROOT}/session").status_code == 401


WRONG = "lh_0123456789ab_" + "x" * 43


def test_wrong_token_is_refused_in_words(visitor: Visitor) -> None:
    page = visitor.page
    visitor.opens()
    visitor.shows_token(WRONG)
    expect(page.get_by_role("alert")).to_have_text(
        "This token is not valid: it may be mistyped, expired or revoked."
    )  # fmt: skip
    visitor.pictures("entrance-refused")
    visitor.shows_token(visitor.service.tokens["read"])
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()


def test_link_with_a_token_logs_in_and_leaves_the_address_clean(visitor: Visitor) -> None:
    page, token = visitor.page, visitor.service.tokens["run"]
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    visitor.opens(f"runs?status=done&token={token}")
    expect(page.get_by_label("runer, scope run")).to_be_visible()
    assert page.url.endswith("#/runs?status=done")
    assert not any(token in url for url in asked)
    page.reload()
    expect(page.get_by_label("runer, scope run")).to_be_visible()
    # Another token logs another user in; a wrong one asks for a token.
    visitor.opens(f"?token={visitor.service.tokens['read']}")
    page.reload()
    expect(page.get_by_label("reader, scope read")).to_be_visible()
    visitor.opens(f"runs?token={WRONG}")
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("This token is not valid")
    assert page.url.endswith("#/runs")


def test_login_after_the_end_of_a_session_keeps_the_view(visitor: Visitor, service: Service) -> None:
    page = visitor.page
    token = service.make_token("short", "run")
    visitor.opens("runs?status=done")
    visitor.shows_token(token)
    expect(page.get_by_label("short, scope run")).to_be_visible()
    # A pending request would notice the end of the session.
    settle(page)
    with service.client() as admin:
        assert admin.delete(f"{ROOT}/tokens/short").status_code == 200
    with service.away():
        page.get_by_label("short, scope run").click()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_text("Not sent")).to_be_visible()
        expect(page.get_by_role("status").first).to_contain_text("Service away")
    expect(page.get_by_role("dialog", name="Your session has ended")).to_be_visible()
    visitor.shows_token(service.tokens["run"])
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_label("runer, scope run")).to_be_visible()
    assert page.url.endswith("#/runs?status=done")


def test_shortcuts_open_pages_and_are_listed(visitor: Visitor) -> None:
    page = visitor.logs_in("read", "launch")
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("link", name="Runs")).to_have_attribute("aria-current", "page")
    page.go_back()
    expect(page.get_by_role("link", name="Launch")).to_have_attribute("aria-current", "page")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_contain_text("Go to Compare")
    visitor.pictures("keys")
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)


def test_theme_follows_the_system_until_it_is_chosen(visitor: Visitor) -> None:
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


def test_unknown_address_shows_not_found(visitor: Visitor) -> None:
    visitor.logs_in("read", "nowhere/at/all")
    expect(visitor.page.get_by_role("heading", name="Not Found")).to_be_visible()


def test_phone_shows_every_page(phone: Visitor) -> None:
    page = phone.logs_in("read", "runs")
    phone.pictures("phone")
    for name in ("Launch", "Runs", "Compare", "Papers", "Lab"):
        page.get_by_role("link", name=name, exact=True).click()
        expect(page.get_by_role("link", name=name, exact=True)).to_have_attribute("aria-current", "page")
        assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")
