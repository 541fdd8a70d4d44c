"""Ten tasks of users for `make bench-web`: how many presses and seconds each takes, with the page and the service as they are.

A press is one of the mouse or of a key; a text that is typed into a field is one press. The seconds are those of a user without
thought: each press as soon as its target can be pressed, until the answer is seen. They tell the page's own delays apart.
"""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Locator, Page, expect

from tests.bench.web.page import opened
from tests.support.service import Service, served

SWEEP: dict[str, Any] = {
    "experiment": "chile",
    "about": "CUBIC and BBR over the path to Chile.",
    "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP", "loss": "1e-4"},
    "flows": [{"name": "app", "cc": "cubic"}],
    "sweep": {"flows.app.cc": ["cubic", "bbr", "reno"], "path.rtt": ["20 ms", "80 ms", "160 ms"]},
    "duration": "6 s",
}


@dataclass
class Hand:
    """The hand of a user: counts what it presses."""

    page: Page
    service: Service
    presses: int = 0

    def clicks(self, target: Locator) -> None:
        target.click()
        self.presses += 1

    def types(self, target: Locator, text: str) -> None:
        target.fill(text)
        self.presses += 1

    def keys(self, key: str) -> None:
        self.page.keyboard.press(key)
        self.presses += 1

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.page.get_by_role("button", name=name, exact=isinstance(name, str)).first

    def link(self, name: str) -> Locator:
        return self.page.get_by_role("link", name=name, exact=True).first

    def sees(self, target: Locator) -> None:
        expect(target.first).to_be_visible(timeout=60_000)

    def sees_values(self) -> None:
        self.sees(self.page.locator('figure[aria-label="Congestion window"] table td span:not(:empty)'))


def launch_an_example(hand: Hand) -> None:
    """Run an example, and see what its congestion window does."""
    hand.clicks(hand.link("Launch"))
    hand.clicks(hand.button("Presets"))
    hand.types(hand.page.get_by_role("dialog").get_by_role("combobox"), "quick")
    hand.keys("Enter")
    hand.clicks(hand.button(re.compile("^Launch")))
    hand.sees_values()


def worst_utilisation(hand: Hand) -> None:
    """Which of my runs fills its path least?"""
    hand.clicks(hand.link("Runs"))
    hand.clicks(hand.page.get_by_role("columnheader").get_by_role("button", name="Utilisation"))
    hand.sees(hand.page.locator("tr[data-row]"))


def two_controls(hand: Hand) -> None:
    """Has BBR more goodput than CUBIC at 80 ms?"""
    hand.clicks(hand.link("Runs"))
    hand.types(hand.page.get_by_label("Search", exact=True).first, "chile rtt=80ms")
    rows = hand.page.locator("tr[data-row]")
    expect(rows).to_have_count(3, timeout=60_000)
    for control in ("bbr", "cubic"):
        hand.clicks(rows.filter(has_text=control).first.get_by_role("checkbox"))
    hand.clicks(hand.page.get_by_role("toolbar").get_by_role("link", name="Compare"))
    hand.sees(hand.page.locator('figure[aria-label="Goodput"] table td span:not(:empty)'))


def sweep_at_a_glance(hand: Hand) -> None:
    """How does goodput depend on round trip and control?"""
    hand.clicks(hand.link("Longhaul"))
    hand.clicks(hand.page.get_by_role("list", name="Latest experiments").get_by_role("link", name="chile").first)
    hand.clicks(hand.link("Heat map"))
    hand.sees(hand.page.get_by_role("table", name=re.compile("Goodput|goodput|Heat map")))


def change_and_launch(hand: Hand) -> None:
    """Do the same again at 300 ms."""
    hand.clicks(hand.link("Runs"))
    hand.clicks(hand.page.locator("tr[data-row]").filter(has_text="quick").first.get_by_role("link").first)
    hand.clicks(hand.link("Change and launch"))
    hand.types(hand.page.get_by_label("RTT", exact=True).first, "300 ms")
    hand.clicks(hand.button(re.compile("^Launch")))
    hand.sees_values()


def sweep_of_round_trips(hand: Hand) -> None:
    """Run the same for five round trips from 10 to 160 ms, each twice the one before."""
    hand.clicks(hand.link("Launch"))
    hand.types(hand.page.get_by_role("combobox", name="Add a field to the sweep"), "path.rtt")
    hand.keys("Enter")
    hand.clicks(hand.button("Generate values of path.rtt"))
    values = hand.page.get_by_role("group", name="Values of path.rtt")
    for label, value in (("From", "10"), ("To", "160"), ("Values", "5")):
        hand.types(values.get_by_label(label), value)
    hand.clicks(values.get_by_text("Log"))
    hand.clicks(values.get_by_role("button", name="Fill in 5 values"))
    hand.types(hand.page.get_by_label("Duration"), "2 s")
    hand.types(hand.page.get_by_label("Warmup"), "")
    hand.clicks(hand.button(re.compile("^Launch 5 runs")))
    hand.sees_values()


def mend_a_mistake(hand: Hand) -> None:
    """I typed 100 for the bandwidth: what is wrong with it?"""
    hand.clicks(hand.link("Launch"))
    hand.types(hand.page.get_by_label("Bandwidth", exact=True).first, "100")
    hand.clicks(hand.page.get_by_role("button", name="Use 100 Mbit/s").first)
    expect(hand.page.get_by_label("Bandwidth", exact=True).first).to_have_value("100 Mbit/s")


def share_a_result(hand: Hand) -> None:
    """Show this run to a colleague who has no account."""
    hand.clicks(hand.link("Runs"))
    hand.clicks(hand.page.locator("tr[data-row]").first.get_by_role("link").first)
    hand.clicks(hand.button("Share"))
    hand.clicks(hand.button("Make the link"))
    hand.sees(hand.page.get_by_test_id("share"))


def first_losses(hand: Hand) -> None:
    """When was the first packet lost, and how large was the window then?"""
    hand.clicks(hand.link("Runs"))
    hand.types(hand.page.get_by_label("Search", exact=True).first, "chile reno rtt=20ms")
    rows = hand.page.locator("tr[data-row]")
    expect(rows).to_have_count(1, timeout=60_000)
    hand.clicks(rows.first.get_by_role("link").first)
    hand.sees_values()
    hand.clicks(hand.page.get_by_role("region", name="Moments").get_by_role("button", name=re.compile("[0-9] s")).first)


def clean_up(hand: Hand) -> None:
    """Delete all runs of that sweep."""
    hand.clicks(hand.link("Runs"))
    hand.types(hand.page.get_by_label("Search", exact=True).first, "chile")
    expect(hand.page.locator("tr[data-row]")).to_have_count(9, timeout=60_000)
    hand.clicks(hand.page.get_by_label("Select all that match"))
    hand.clicks(hand.button("Delete"))
    hand.clicks(hand.page.get_by_role("dialog").get_by_role("button", name=re.compile("Delete")))
    hand.clicks(hand.button("Now"))
    expect(hand.page.locator("tr[data-row]")).to_have_count(0, timeout=60_000)


TASKS: tuple[Callable[[Hand], None], ...] = (
    launch_an_example,
    worst_utilisation,
    two_controls,
    sweep_at_a_glance,
    change_and_launch,
    sweep_of_round_trips,
    mend_a_mistake,
    share_a_result,
    first_losses,
    clean_up,
)


def measure_tasks(browser: Browser) -> dict[str, dict[str, float]]:
    """Each task in a page of its own, one after the other in one lab."""
    found = {}
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder, served(Path(folder) / "home") as service:
        service.wait(service.submit({"shipped": "quick"})["id"])
        service.wait(service.submit({"spec": SWEEP})["id"])
        for task in TASKS:
            with opened(browser, service) as page:
                hand = Hand(page, service)
                begun = time.perf_counter()
                task(hand)
                lasted_s = time.perf_counter() - begun
            found[(task.__doc__ or "").strip()] = {"presses": float(hand.presses), "seconds": lasted_s}
    return found
