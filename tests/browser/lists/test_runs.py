"""The list of runs: the empty state, filters in the address, bulk actions, keys, and updates while it is open."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service, served
from tests.support.waiting import wait_for

# Ten virtual seconds that take a fraction of a real one.
QUICK: dict[str, Any] = {"shipped": "quick", "repeats": 3}
RENO: dict[str, Any] = {"shipped": "quick", "set": ["flows.app.cc=reno", "path.rtt=80 ms"]}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for these tests only, so that the content of its lists is known."""
    with served(tmp_path_factory.mktemp("runs") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def filled(service: Service) -> Service:
    """Three runs of cubic and one of reno by one user, one more by another."""
    requests = [(QUICK, "run"), (RENO, "run"), (RENO | {"seed": 99}, "admin")]
    for made in [service.submit(one, scope) for one, scope in requests]:
        assert service.wait(made["id"])["status"] == "done"
    return service


def rows(page: Page) -> Locator:
    return page.get_by_role("table").locator("tr[data-row]")


def confirms_deletion(page: Page, noun: str) -> None:
    """Confirm it, and do not wait for the time in which it can be undone."""
    page.get_by_role("dialog").get_by_role("button", name=f"Delete {noun}").click()
    page.get_by_role("button", name="Now").click()


def test_empty_lab_offers_to_launch(visitor: Visitor) -> None:
    page = visitor.logs_in("run", "runs")
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    expect(page.get_by_role("link", name="Launch an experiment")).to_have_attribute("href", "#/launch")
    visitor.pictures("runs-empty")
    page.get_by_text("Experiments", exact=True).click()
    expect(page.get_by_role("heading", name="No runs yet")).to_be_visible()
    page.get_by_label("Search").fill("matches nothing")
    expect(page.get_by_role("heading", name="No experiments match")).to_be_visible()


def test_a_filter_is_a_link_that_restores_the_view(browser: Browser, visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("read", "runs")
    expect(rows(page)).to_have_count(5)
    page.get_by_role("combobox", name="CC").select_option("reno")
    expect(rows(page)).to_have_count(2)
    page.get_by_label("Search").fill("80 ms runer")
    expect(rows(page)).to_have_count(1)
    page.get_by_role("button", name="More").click()
    page.get_by_role("textbox", name="RTT").fill("80 ms")
    page.get_by_label("Bandwidth").fill("10 Mbit/s")
    page.get_by_label("Order").select_option("Oldest first")
    # A typed filter takes effect at a pause, and then clears the selection.
    expect(page).to_have_url(re.compile(re.escape("bandwidth=10+Mbit/s")))
    rows(page).get_by_role("checkbox").check()
    expect(page.get_by_role("toolbar")).to_contain_text("1 run")
    for word in ("cc=reno", "q=80+ms+runer", "rtt=80+ms", "bandwidth=10+Mbit/s", "sort=oldest", "picked="):
        expect(page).to_have_url(re.compile(re.escape(word)))
    link = page.url
    with Visitor.comes(browser, filled) as other:
        other.page.goto(link)
        other.shows_token(filled.tokens["read"])
        again = other.page
        expect(rows(again)).to_have_count(1)
        expect(again.get_by_label("Search")).to_have_value("80 ms runer")
        expect(again.get_by_role("textbox", name="RTT")).to_have_value("80 ms")
        expect(again.get_by_role("combobox", name="CC")).to_have_value("reno")
        expect(rows(again).get_by_role("checkbox")).to_be_checked()
        expect(again.get_by_label("Order")).to_have_value("oldest")
        assert again.url == link
    # Another filter clears the selection, so that no selected row is out of view.
    page.get_by_label("Status").select_option("done")
    expect(page.get_by_role("toolbar")).to_have_count(0)
    # A word with a name must match the whole value.
    page.get_by_role("button", name="Clear").click()
    page.get_by_label("Search").fill("seed=9")
    expect(page.get_by_role("heading", name="No runs match")).to_be_visible()
    page.get_by_label("Search").fill("seed=99")
    expect(rows(page)).to_have_count(1)
    # The service refuses an unknown value, and the page shows its error.
    visitor.opens("runs?status=banana")
    expect(page.get_by_role("alert")).to_contain_text("'banana' is not one of 'queued'")
    expect(page.get_by_label("Status")).to_have_value("banana")
    page.get_by_role("button", name="Clear").click()
    # The page shows the service's error for an invalid value, until the value is corrected.
    if not page.get_by_role("textbox", name="RTT").is_visible():
        page.get_by_role("button", name="More").click()
    page.get_by_role("textbox", name="RTT").fill("80 cows")
    expect(page.get_by_role("alert")).to_contain_text("a duration needs a unit")
    page.get_by_role("button", name="Clear").click()
    expect(rows(page)).to_have_count(5)
    visitor.pictures("runs")


def test_page_of_an_experiment_links_to_all_of_its_runs(visitor: Visitor, filled: Service) -> None:
    """The page shows at most two hundred runs; here a changed response reports that there are more."""
    page = visitor.page
    with filled.client("read") as client:
        newest_first = client.get(f"{ROOT}/experiments", params={"cc": "cubic"}).json()["items"]
    first_runs = re.compile(r"/runs\?.*experiment_id=")

    def with_more(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, json=answer.json() | {"next": "more"})

    page.route(first_runs, with_more)
    visitor.logs_in("read", f"experiments/{newest_first[0]['id']}")
    expect(page.get_by_role("link", name="All runs")).to_be_visible()
    page.unroute(first_runs)
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("status").filter(has_text="3 runs match")).to_be_visible()
    expect(rows(page)).to_have_count(3)


def test_keys_move_select_and_open_in_the_list(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("read", "runs")
    expect(rows(page)).to_have_count(5)
    page.keyboard.press("/")
    expect(page.get_by_label("Search")).to_be_focused()
    page.keyboard.type("cubic")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(3)
    for key in ("j", "j", "x", "k", "x"):
        page.keyboard.press(key)
    expect(rows(page).nth(0)).to_have_attribute("data-here", "true")
    expect(page.get_by_role("toolbar")).to_contain_text("2 runs")
    visitor.pictures("runs-picked")
    page.keyboard.press("Escape")
    expect(page.get_by_role("toolbar")).to_have_count(0)
    opened = rows(page).nth(0).get_by_role("link").get_attribute("href")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(re.escape(str(opened)) + "$"))
    page.go_back()
    expect(page.get_by_label("Search")).to_have_value("cubic")


def test_selected_runs_are_compared_pinned_rerun_and_deleted(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("run", "runs?cc=cubic")
    expect(rows(page)).to_have_count(3)
    page.get_by_label("Select all that match").check()
    bar = page.get_by_role("toolbar")
    expect(bar).to_contain_text("3 runs")
    compare = str(bar.get_by_role("link", name="Compare").get_attribute("href"))
    with filled.client() as client:
        known = {row["id"] for row in client.get(f"{ROOT}/runs", params={"cc": "cubic"}).json()["items"]}
    assert compare.startswith("#/compare?runs=") and set(compare.partition("=")[2].split(",")) == known
    bar.get_by_role("button", name="Pin").click()
    expect(page.get_by_text("pinned", exact=True)).to_have_count(3)
    # Pinned runs are not deleted: each is refused.
    bar.get_by_role("button", name="Delete").click()
    confirms_deletion(page, "3 runs")
    expect(page.get_by_role("dialog", name="3 refused")).to_contain_text("it is pinned")
    visitor.pictures("runs-refused")
    page.get_by_role("dialog").get_by_role("button", name="Close").click()
    bar.get_by_role("button", name="Unpin").click()
    expect(page.get_by_text("pinned", exact=True)).to_have_count(0)
    bar.get_by_role("button", name="Rerun").click()
    expect(rows(page)).to_have_count(6)
    # Statuses change in place, without the list being read again.
    expect(rows(page).filter(has_text="done")).to_have_count(6)
    bar.get_by_role("button", name="Delete").click()
    confirms_deletion(page, "3 runs")
    expect(rows(page)).to_have_count(3)
    expect(page.get_by_role("status").filter(has_text="3 runs deleted.")).to_be_visible()
    with filled.client() as client:
        assert all(client.get(f"{ROOT}/runs/{key}").status_code == 404 for key in known)


def test_new_runs_are_counted_and_shown_on_request(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("run", "runs?cc=vegas")
    expect(page.get_by_role("heading", name="No runs match")).to_be_visible()
    made = filled.submit({"shipped": "quick", "set": ["flows.app.cc=vegas"]})
    page.get_by_role("button", name="1 new: show").click()
    expect(rows(page)).to_have_count(1)
    filled.wait(made["id"])
    expect(rows(page).filter(has_text="done")).to_have_count(1)
    expect(rows(page)).to_contain_text("%")
    # Selecting a row changes the address, and the count of new runs stays.
    more = filled.submit({"shipped": "quick", "seed": 5, "set": ["flows.app.cc=vegas"]})
    expect(page.get_by_role("button", name="1 new: show")).to_be_visible()
    rows(page).get_by_role("checkbox").check()
    expect(page.get_by_role("toolbar")).to_contain_text("1 run")
    page.wait_for_timeout(300)
    expect(page.get_by_role("button", name="1 new: show")).to_be_visible()
    filled.wait(more["id"])


def test_experiments_are_cancelled_and_deleted(visitor: Visitor, filled: Service) -> None:
    page = visitor.page
    long = {"shipped": "quick", "set": ["duration=4000 s", "experiment=endless"], "priority": -10}
    made = filled.submit(long)
    visitor.logs_in("run", "runs?what=experiments&q=endless")
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("0 of 1")
    rows(page).get_by_role("checkbox").check()
    page.get_by_role("toolbar").get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 1 experiment").click()
    expect(rows(page).filter(has_text="cancelled")).to_have_count(1)
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    confirms_deletion(page, "1 experiment")
    expect(page.get_by_role("heading", name="No experiments match")).to_be_visible()
    with filled.client() as client:
        assert client.get(f"{ROOT}/experiments/{made['id']}").status_code == 404


def test_scope_read_sees_no_actions_and_is_refused(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("read", "runs")
    page.get_by_label("Select all that match").check()
    bar = page.get_by_role("toolbar")
    expect(bar.get_by_role("link", name="Compare")).to_be_visible()
    for name in ("Pin", "Rerun", "Delete", "Cancel"):
        expect(bar.get_by_role("button", name=name, exact=True)).to_have_count(0)
    # The service refuses the actions that the page hides.
    run = str(rows(page).nth(0).get_by_role("link").get_attribute("href")).rpartition("/")[2]
    for method, path in (("PUT", f"runs/{run}/pin"), ("DELETE", f"runs/{run}"), ("POST", f"runs/{run}/rerun")):
        assert visitor.is_answered(method, path) == 403, path


def test_run_of_another_owner_is_not_deleted(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("run", "runs?owner=first")
    rows(page).get_by_role("checkbox").check()
    page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
    confirms_deletion(page, "1 run")
    expect(page.get_by_role("dialog", name="1 refused")).to_contain_text("ask the owner or an admin")


def queued(service: Service, name: str, repeats: int) -> dict[str, Any]:
    """An experiment whose runs are listed and do not end: the lab runs others first."""
    changes = ["duration=4000 s", f"experiment={name}"]
    return service.submit({"shipped": "quick", "repeats": repeats, "set": changes, "priority": -10})


def drawn(page: Page) -> list[int]:
    """The places of the rows that the document has."""
    return [
        int(place)
        for place in page.evaluate("[...document.querySelectorAll('tr[data-row]')].map(row => row.dataset.row)")
    ]


def test_a_long_list_draws_few_rows_and_jumps_to_any_of_them(visitor: Visitor, filled: Service) -> None:
    made = queued(filled, "long", 700)
    with filled.client() as client:
        ids = [href.rpartition("/")[2] for href in client.get(f"{ROOT}/experiments/{made['id']}").json()["runs"]]
    page = visitor.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/runs?" in request.url else None)
    visitor.logs_in("read", f"runs?of={made['id']}&sort=seed")
    # The number of matching runs is exact before they are loaded.
    expect(page.get_by_role("status").filter(has_text="700 runs match")).to_be_visible()
    expect(page.locator("tr[data-row='0'] a")).to_be_visible()
    assert len(asked) == 1
    assert 0 < len(drawn(page)) <= 100
    page.keyboard.press("End")
    expect(page.locator("tr[data-row='699'] a")).to_be_in_viewport()
    # The rows before are neither requested nor drawn.
    assert len(asked) <= 7, asked
    assert len(drawn(page)) <= 100 and min(drawn(page)) > 500
    # Every row is there once, at its place, wherever the page is scrolled to.
    found: dict[int, str] = {}
    for _ in range(60):
        for place, href in page.evaluate(
            "[...document.querySelectorAll('tr[data-row]:has(a)')].map(row => [row.dataset.row, row.querySelector('a').hash])"
        ):
            assert found.setdefault(int(place), href) == href
        if len(found) == 700:
            break
        page.mouse.wheel(0, -500)
        page.wait_for_timeout(150)
    assert [found[place].rpartition("/")[2] for place in range(700)] == ids
    heights = (
        "new Set([...document.querySelectorAll('tr[data-row]')].map(row => row.getBoundingClientRect().height)).size"
    )
    assert page.evaluate(heights) == 1
    # Keys move through rows that are not drawn yet.
    for _ in range(45):
        page.keyboard.press("j")
    expect(page.locator("tr[data-here='true']")).to_have_attribute("data-row", "44")
    expect(page.locator("tr[data-row='44'] a")).to_be_in_viewport()
    filled.cancel(made["id"])


def test_columns_sort_and_are_chosen_and_the_browser_keeps_the_choice(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("read", "runs?q=quick")
    head = page.get_by_role("columnheader", name="Goodput")
    expect(head).to_have_attribute("aria-sort", "none")
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "ascending")
    expect(page).to_have_url(re.compile("sort=goodput"))
    head.get_by_role("button").click()
    expect(head).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_label("Order")).to_have_value("-goodput")
    with filled.client("read") as client:
        best = client.get(f"{ROOT}/runs", params={"text": "quick", "sort": "-goodput"}).json()["items"]
    expect(rows(page)).to_have_count(len(best))
    expect(page.locator("[data-old='false']")).to_be_visible()
    links = [str(link.get_attribute("href")).rpartition("/")[2] for link in rows(page).get_by_role("link").all()]
    assert links == [row["id"] for row in best]
    goodputs = [row["goodput_bps"] for row in best if row["goodput_bps"] is not None]
    # Runs without a goodput, which have not ended, come last.
    assert len(goodputs) >= 3 and goodputs == sorted(goodputs, reverse=True)
    assert [row["goodput_bps"] for row in best[len(goodputs) :]] == [None] * (len(best) - len(goodputs))
    page.get_by_label("Columns").first.click()
    page.get_by_role("checkbox", name="Seed").check()
    page.get_by_role("checkbox", name="Loss").uncheck()
    page.keyboard.press("Escape")
    expect(page.get_by_role("columnheader", name="Seed")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Loss")).to_have_count(0)
    visitor.pictures("runs-columns")
    # The next list of this browser begins so; an address with an order shows its own.
    visitor.opens("compare")
    visitor.opens("runs")
    expect(page.get_by_role("columnheader", name="Seed")).to_be_visible()
    expect(page.get_by_role("columnheader", name="Goodput")).to_have_attribute("aria-sort", "descending")
    expect(page).to_have_url(re.compile("sort=-goodput"))
    visitor.opens("runs?sort=oldest")
    expect(page.get_by_role("columnheader", name="Created")).to_have_attribute("aria-sort", "ascending")
    expect(page.get_by_role("columnheader", name="Loss")).to_be_visible()
    # The service refuses an unknown order.
    visitor.opens("runs?sort=beauty")
    expect(page.get_by_role("alert")).to_contain_text("an order is `newest`, `oldest`, one of")


def test_all_matching_runs_are_selected_and_refusals_are_counted(visitor: Visitor, filled: Service) -> None:
    """Including rows that the list has not loaded."""
    request = {"shipped": "quick", "repeats": 70, "set": ["duration=4000 s", "experiment=many"], "priority": -10}
    made = filled.submit(request)
    with filled.client() as client:
        ids = {href.rpartition("/")[2] for href in client.get(f"{ROOT}/experiments/{made['id']}").json()["runs"]}
    assert len(ids) == 70
    page = visitor.logs_in("run", f"runs?of={made['id']}")
    expect(page.get_by_role("status").filter(has_text="70 runs match")).to_be_visible()
    page.get_by_label("Select all that match").click()
    bar = page.get_by_role("toolbar")
    expect(bar).to_contain_text("70 runs")
    expect(page.get_by_label("Select all that match")).to_be_checked()
    # The address contains the selected rows beyond the first page.
    picked = re.search(r"picked=([0-9a-f,]+)", page.url)
    assert picked is not None and set(picked[1].split(",")) == ids
    # All of them are queued or running: each is refused for the same reason.
    bar.get_by_role("button", name="Delete").click()
    confirms_deletion(page, "70 runs")
    refused = page.get_by_role("dialog", name="70 refused")
    expect(refused).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="0 of 70 runs deleted; 70 refused.")).to_be_attached()
    for line in refused.get_by_text("The same for").all():
        line.click()
    shown = {str(link.get_attribute("href")).rpartition("/")[2] for link in refused.get_by_role("link").all()}
    assert shown <= ids and refused.get_by_role("alert").count() <= 2
    visitor.pictures("runs-many-refused")
    refused.get_by_role("button", name="Close").click()
    # Many reruns need a confirmation.
    bar.get_by_role("button", name="Rerun").click()
    page.get_by_role("dialog", name="Rerun 70 runs?").get_by_role("button", name="Go back").click()
    page.get_by_label("Select all that match").click()
    expect(bar).to_have_count(0)
    # All of them can be deleted at once, on whichever page they are.
    filled.cancel(made["id"])
    with filled.client() as client:
        # The running one ends a moment later.
        one_by_one = [f"{ROOT}/runs/{run}" for run in ids]
        wait_for(lambda: all(client.get(href).json()["status"] == "cancelled" for href in one_by_one))
    page.reload()
    page.get_by_label("Select all that match").click()
    expect(bar).to_contain_text("70 runs")
    bar.get_by_role("button", name="Delete").click()
    confirms_deletion(page, "70 runs")
    expect(page.get_by_role("status").filter(has_text="70 runs deleted.")).to_be_visible()
    expect(page.get_by_role("heading", name="No runs match")).to_be_visible()


def test_deletion_can_be_undone_and_a_closed_page_deletes_nothing(
    browser: Browser, visitor: Visitor, filled: Service
) -> None:
    made = queued(filled, "undone", 3)
    filled.cancel(made["id"])
    page = visitor.logs_in("run", f"runs?of={made['id']}")
    page.get_by_label("Select all that match").click()
    bar = page.get_by_role("toolbar")
    bar.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete 3 runs").click()
    expect(page.get_by_role("status").filter(has_text="3 runs will be deleted.")).to_be_visible()
    visitor.pictures("runs-undo")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_role("status").filter(has_text="will be deleted")).to_have_count(0)
    # The selection is as before.
    expect(bar).to_contain_text("3 runs")
    # A page that is closed before the time has deleted nothing.
    with Visitor.comes(browser, filled) as other:
        other.enters("run", f"runs?of={made['id']}")
        other.page.get_by_label("Select all that match").click()
        other.page.get_by_role("toolbar").get_by_role("button", name="Delete").click()
        other.page.get_by_role("dialog").get_by_role("button", name="Delete 3 runs").click()
        expect(other.page.get_by_role("button", name="Undo")).to_be_visible()
    page.wait_for_timeout(8500)
    with filled.client() as client:
        assert client.get(f"{ROOT}/runs", params={"experiment_id": made["id"], "total": True}).json()["total"] == 3
    # It continues while another page is shown, without a further press.
    bar.get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete 3 runs").click()
    page.get_by_role("link", name="Compare", exact=True).first.click()
    expect(page.get_by_role("status").filter(has_text="3 runs deleted.")).to_be_visible()
    with filled.client() as client:
        assert client.get(f"{ROOT}/runs", params={"experiment_id": made["id"], "total": True}).json()["total"] == 0


def test_more_runs_than_an_address_has_room_for_are_selected_by_their_filter(visitor: Visitor, filled: Service) -> None:
    made = queued(filled, "very-many", 1010)
    filled.cancel(made["id"])
    page = visitor.logs_in("run", "runs?name=very-many")
    box = page.get_by_label("Select all that match")
    box.click()
    bar = page.get_by_role("toolbar")
    expect(bar).to_contain_text("1,010 runs")
    expect(box).to_be_checked()
    expect(page).to_have_url(re.compile(r"picked=all,20[0-9T:.-]+Z$"))
    page.keyboard.press("End")
    last = page.locator("tr[data-row='1009']")
    expect(last.get_by_role("checkbox")).to_be_checked()
    last.get_by_role("checkbox").uncheck()
    expect(bar).to_contain_text("1,009 runs, all that match but 1")
    expect(box).to_have_js_property("indeterminate", True)
    kept = str(last.get_by_role("link").get_attribute("href")).rpartition("/")[2]
    visitor.pictures("runs-all-but-one")
    bar.get_by_role("button", name="Delete").click()
    confirms_deletion(page, "1,009 runs")
    expect(page.get_by_role("status").filter(has_text="1,009 runs deleted.")).to_be_visible(timeout=120_000)
    expect(rows(page)).to_have_count(1)
    with filled.client() as client:
        left = client.get(f"{ROOT}/runs", params={"experiment": "very-many"}).json()["items"]
    assert [row["id"] for row in left] == [kept]


def test_selected_runs_that_the_filter_leaves_out_are_named(visitor: Visitor, filled: Service) -> None:
    page = visitor.page
    with filled.client("read") as client:
        (reno, *_) = client.get(f"{ROOT}/runs", params={"cc": "reno"}).json()["items"]
        (vegas, *_) = client.get(f"{ROOT}/runs", params={"cc": "vegas"}).json()["items"]
    visitor.logs_in("run", f"runs?cc=reno&picked={reno['id']},{vegas['id']}")
    bar = page.get_by_role("toolbar")
    expect(bar).to_contain_text("2 runs, 1 not shown")
    expect(page.get_by_label("Select all that match")).to_have_js_property("indeterminate", True)
    bar.get_by_role("button", name="Leave it out").click()
    expect(bar).to_contain_text("1 run")
    expect(bar).not_to_contain_text("not shown")


def test_back_and_a_reload_return_to_the_same_place(visitor: Visitor, filled: Service) -> None:
    made = queued(filled, "place", 300)
    page = visitor.logs_in("read", f"runs?of={made['id']}")
    expect(page.locator("tr[data-row='0'] a")).to_be_visible()
    page.mouse.move(600, 400)
    page.mouse.wheel(0, 6943)
    row = page.locator("tr[data-row='210']")
    expect(row.get_by_role("link")).to_be_in_viewport()
    before = page.evaluate("scrollY")
    assert before > 6000
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("queued")
    assert page.evaluate("scrollY") < 1000
    page.go_back()
    expect(row.get_by_role("link")).to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - before) < 2
    page.reload()
    expect(row.get_by_role("link")).to_be_in_viewport()
    assert abs(page.evaluate("scrollY") - before) < 2
    # Another visit begins at the top.
    page.get_by_role("link", name="Compare", exact=True).first.click()
    page.get_by_role("link", name="Runs", exact=True).first.click()
    expect(page.locator("tr[data-row='0'] a")).to_be_in_viewport()
    filled.cancel(made["id"])


def test_titles_of_tabs_differ(visitor: Visitor, filled: Service) -> None:
    page = visitor.page
    with filled.client("read") as client:
        (run, *_) = client.get(f"{ROOT}/runs", params={"cc": "reno", "status": "done"}).json()["items"]
        of_run = client.get(run["href"]).json()["experiments"][0]
    visitor.logs_in("read", f"runs/{run['id']}")
    expect(page).to_have_title(f"✓ quick, seed {run['seed']} · Longhaul")
    visitor.opens(f"experiments/{of_run}")
    expect(page).to_have_title("✓ quick · Longhaul")
    visitor.opens("runs")
    expect(page).to_have_title("Runs · Longhaul")
    # The eight digits that the page prints open the run; unknown ones are explained, with a way on.
    visitor.opens(f"runs/{run['id'][:8]}")
    expect(page).to_have_url(re.compile(f"#/runs/{run['id']}$"))
    visitor.opens("runs/deadbeef")
    expect(page.get_by_role("heading", name="There is no run deadbeef")).to_be_visible()
    expect(page).to_have_title("No run deadbeef · Longhaul")
    page.get_by_role("link", name="All runs").click()
    expect(rows(page).first).to_be_visible()


def test_a_view_is_saved_under_a_name_and_opened_again(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("read", "runs?cc=reno&sort=-goodput&columns=goodput,point.path.rtt")
    page.get_by_label("Views").first.click()
    page.get_by_label("Name of this view").fill("Reno, best first")
    page.get_by_role("button", name="Save", exact=True).click()
    visitor.opens("runs?q=cubic")
    expect(page.get_by_label("Search")).to_have_value("cubic")
    # The menu is still open.
    page.get_by_role("link", name="Reno, best first").click()
    expect(page).to_have_url(re.compile(r"#/runs\?cc=reno&sort=-goodput&columns=goodput,point.path.rtt$"))
    expect(page.get_by_role("columnheader", name="Goodput")).to_have_attribute("aria-sort", "descending")
    expect(page.get_by_role("columnheader", name="rtt", exact=True)).to_be_visible()
    page.reload()
    page.get_by_label("Views").first.click()
    visitor.pictures("runs-views")
    page.get_by_role("button", name="Remove the view Reno, best first").click()
    expect(page.get_by_role("link", name="Reno, best first")).to_have_count(0)


def test_the_list_is_downloaded_with_its_filter_order_and_columns(visitor: Visitor, filled: Service) -> None:
    page = visitor.logs_in("read", "runs?cc=reno&sort=-seed&columns=loss,goodput")
    expect(rows(page).first).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    lines = list(csv.DictReader(download.value.path().read_text().splitlines()))
    with filled.client("read") as client:
        listed = client.get(f"{ROOT}/runs", params={"cc": "reno", "sort": "-seed"}).json()["items"]
    assert [line["id"] for line in lines] == [row["id"] for row in listed] and lines
    assert {"goodput_bps", "loss_ratio", "seed"} < set(lines[0]) and "jain" not in lines[0]
