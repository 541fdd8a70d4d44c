"""Notifications: of the browser, with a permission that a press asked for, and subscriptions in the lab, with a real receiver."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import breaches
from tests.browser.visitor import PHONE, Visitor
from tests.support.receivers.webhooks import WebhookServer, receiving
from tests.support.service import ROOT, Service, served

# The real notifications of the browser, which a test cannot see otherwise, and how often the page asked for the permission.
_RECORD = """
    window.shownNotifications = [];
    window.asked = 0;
    const Real = window.Notification;
    window.Notification = class extends Real {
        constructor(title, options) { super(title, options); window.shownNotifications.push(this); }
        static requestPermission() { window.asked += 1; return Real.requestPermission(); }
    };
"""
_HIDE = """
    Object.defineProperty(document, "hidden", { configurable: true, get: () => true });
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
"""
_SHOWN = "window.shownNotifications.map(({ title, body }) => [title, body])"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("notified") / "home", LONGHAUL_WEBHOOK_NETWORKS="127.0.0.0/8") as running:
        yield running


@pytest.fixture
def hooks() -> Iterator[WebhookServer]:
    with receiving(reply=b"got it") as server:
        yield server


def _spec(name: str, rate: str, **more: Any) -> dict[str, Any]:
    path = {"bandwidth": rate, "rtt": "20 ms"}
    return {
        "spec": {"experiment": name, "path": path, "flows": [{"name": "one", "cc": "cubic"}], "duration": "3 s", **more}
    }


def _waits_for(page: Page, title: str) -> list[str]:
    """The title and the text of a notification."""
    page.wait_for_function(f"title => {_SHOWN}.some(([one]) => one === title)", arg=title, timeout=60_000)
    (found,) = [one for one in page.evaluate(_SHOWN) if one[0] == title]
    return list(found)


@pytest.fixture
def notified(browser: Browser, lab: Service) -> Iterator[Visitor]:
    """A browser that has the permission as soon as the page asks for it."""
    with Visitor.comes(browser, lab) as visitor:
        visitor.page.add_init_script(_RECORD)
        page = visitor.enters("gate", "lab/notifications")
        expect(page.get_by_role("button", name="Notify me in this browser")).to_be_visible()
        # Not at load, but by a press.
        assert page.evaluate("window.asked") == 0
        page.context.grant_permissions(["notifications"], origin=lab.url)
        page.reload()
        assert page.evaluate("window.asked") == 0
        page.get_by_role("button", name="Notify me in this browser").click()
        expect(page.get_by_role("button", name="Show a trial")).to_be_visible()
        yield visitor


def test_an_end_is_reported_while_the_tab_is_hidden_and_a_press_opens_it(notified: Visitor, lab: Service) -> None:
    page = notified.page
    page.get_by_role("button", name="Show a trial").click()
    assert _waits_for(page, "Longhaul") == ["Longhaul", "Notifications arrive."]
    # In another view, in a hidden tab.
    notified.opens("lab/queue")
    expect(page.get_by_role("heading", name="Lab: Queue")).to_be_attached()
    page.evaluate(_HIDE)
    expect_goodput = [{"measure": "goodput", "flow": "one", "at_least": "50 Mbit/s"}]
    other = lab.submit(_spec("of-another-user", "21 Mbit/s"), "run")
    own = lab.submit(_spec("in-the-background", "20 Mbit/s", expect=expect_goodput), "gate")
    assert lab.wait(other["id"])["status"] == "done"
    assert _waits_for(page, "in-the-background: missed") == ["in-the-background: missed", "1 missed of 1 run"]
    # Only the user's experiments are reported, and each once.
    page.wait_for_timeout(6000)
    titles = [title for title, _ in page.evaluate(_SHOWN)]
    assert titles.count("in-the-background: missed") == 1
    assert not any("another" in title for title in titles)
    page.evaluate("window.shownNotifications.at(-1).dispatchEvent(new Event('click'))")
    expect(page).to_have_url(re.compile(f"#/experiments/{own['id']}"))


def test_the_choice_stays_in_the_browser_and_can_be_taken_back(notified: Visitor, lab: Service) -> None:
    page = notified.page
    page.reload()
    expect(page.get_by_role("button", name="Show a trial")).to_be_visible()
    notified.pictures("notifications-browser")
    page.get_by_role("button", name="Turn off").click()
    expect(page.get_by_role("button", name="Notify me in this browser")).to_be_visible()
    lab.wait(lab.submit(_spec("not-reported", "22 Mbit/s"), "gate")["id"])
    page.wait_for_timeout(7000)
    assert page.evaluate(_SHOWN) == []


def test_a_broken_baseline_is_reported(notified: Visitor, lab: Service) -> None:
    page = notified.page
    with lab.client("gate") as client:
        first = lab.wait(lab.submit(_spec("guarded", "24 Mbit/s", repeats=2), "gate")["id"])
        baseline = client.put(f"{ROOT}/baselines/guarded/main", json={"experiment_id": first["id"]})
        assert baseline.is_success
        lab.submit(_spec("guarded", "12 Mbit/s", repeats=2), "gate")
    title = "guarded is worse than the baseline of main"
    assert _waits_for(page, title) == [title, "Worse: goodput(one)"]


def test_a_refused_permission_is_explained(browser: Browser, lab: Service) -> None:
    with Visitor.comes(browser, lab) as visitor:
        visitor.page.add_init_script("Object.defineProperty(Notification, 'permission', { get: () => 'denied' })")
        visitor.enters("read", "lab/notifications")
        expect(visitor.page.get_by_text("You have forbidden notifications")).to_be_visible()
        # A reader has no subscriptions.
        expect(visitor.page.get_by_role("button", name="Subscribe")).to_have_count(0)


def test_the_page_of_an_experiment_leads_to_its_own_subscription(
    browser: Browser, lab: Service, hooks: WebhookServer
) -> None:
    made = lab.submit({"shipped": "quick", "set": ["duration=4000 s"], "priority": -10}, "run")
    with Visitor.comes(browser, lab) as visitor:
        page = visitor.enters("run", f"experiments/{made['id']}")
        page.get_by_role("link", name="Notify me").click()
        expect(page.get_by_label("Id of the experiment")).to_have_value(made["id"])
        page.get_by_label("URL").fill(hooks.url)
        page.get_by_role("button", name="Subscribe").click()
        page.get_by_role("dialog").get_by_role("button", name="Done").click()
        expect(page.get_by_role("row").filter(has_text=hooks.url)).to_contain_text(made["id"][:8])
        lab.cancel(made["id"])
        row = page.get_by_role("row").filter(has_text=hooks.url)
        expect(row).to_contain_text("delivered")
        assert hooks.wait(1)[0].message["data"]["title"] == "quick: cancelled (1 cancelled of 1 run)"
        row.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("No subscriptions yet.")).to_be_visible()
        # An experiment that has ended has no more news.
        visitor.opens(f"experiments/{made['id']}")
        expect(page.get_by_role("heading", name="quick")).to_be_visible()
        expect(page.get_by_role("link", name="Notify me")).to_have_count(0)


@pytest.mark.parametrize("size", ["desk", "phone"])
def test_a_webhook_is_subscribed_tried_and_deleted(
    browser: Browser, lab: Service, hooks: WebhookServer, size: str
) -> None:
    options: dict[str, Any] = {"viewport": PHONE} if size == "phone" else {}
    with Visitor.comes(browser, lab, **options) as visitor:
        page = visitor.enters("run", "lab/notifications")
        expect(page.get_by_text("LONGHAUL_SMTP_HOST")).to_be_visible()
        expect(page.get_by_text("No subscriptions yet.")).to_be_visible()
        page.get_by_label("URL").fill("http://10.0.0.1/")
        page.get_by_role("button", name="Subscribe").click()
        expect(page.get_by_role("alert")).to_contain_text("LONGHAUL_WEBHOOK_NETWORKS")
        page.get_by_label("URL").fill(hooks.url)
        page.get_by_label("Only those named").fill("pacing*")
        page.get_by_label("It is worse than its baseline").uncheck()
        page.get_by_role("button", name="Subscribe").click()
        dialog = page.get_by_role("dialog", name="The secret of this webhook")
        secret = dialog.get_by_test_id("secret").inner_text()
        dialog.get_by_role("button", name="Done").click()
        row = page.get_by_role("row").filter(has_text=hooks.url)
        expect(row).to_contain_text("end, missed expectation")
        expect(row).to_contain_text("those of runer, named pacing*")
        expect(row).to_contain_text("none yet")
        row.get_by_role("button", name="Send a trial").click()
        expect(row).to_contain_text("delivered")
        expect(row).to_contain_text("200 OK got it")
        assert hooks.wait(1)[0].is_signed_by(secret)
        assert breaches(page) == []
        visitor.pictures(f"notifications-{size}")
        row.get_by_role("button", name="Send a trial").click()
        expect(row.get_by_role("alert")).to_contain_text("less than 10 s ago")
        row.get_by_role("button", name="Delete").click()
        expect(page.get_by_text("No subscriptions yet.")).to_be_visible()


def test_one_tab_of_several_reports(notified: Visitor, lab: Service) -> None:
    """And another one, when that is closed."""
    first = notified.page
    second = first.context.new_page()
    second.add_init_script(_RECORD)
    second.goto(f"{lab.url}/#/lab/notifications")
    expect(second.get_by_role("button", name="Show a trial")).to_be_visible()
    lab.wait(lab.submit(_spec("in-two-tabs", "26 Mbit/s"), "gate")["id"])
    _waits_for(first, "in-two-tabs: done")
    second.wait_for_timeout(6000)
    assert second.evaluate(_SHOWN) == []
    first.close()
    # The other tab begins with the present.
    second.wait_for_timeout(2000)
    lab.wait(lab.submit(_spec("in-one-tab", "27 Mbit/s"), "gate")["id"])
    _waits_for(second, "in-one-tab: done")
