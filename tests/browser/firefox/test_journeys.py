"""Journeys in Debian's Firefox: at a desk and with a phone's screen, light and dark, with the mouse and with keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.firefox.bidi import Firefox
from tests.support.service import ROOT, Service

DESK, PHONE = (1280, 800), (390, 844)
_POINTER = "^Time in Congestion window"
# A chart shows a value in its legend.
_DRAWN = """document.querySelector('figure[aria-label="Congestion window"] table td span:not(:empty)') !== null"""
_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
_DARK = "getComputedStyle(document.documentElement).colorScheme"


@pytest.fixture
def desk(service: Service, tmp_path: Path) -> Iterator[Firefox]:
    with Firefox.starts(tmp_path / "profile", service.url, "light", DESK) as firefox:
        yield firefox


@pytest.fixture
def phone(service: Service, tmp_path: Path) -> Iterator[Firefox]:
    with Firefox.starts(tmp_path / "profile", service.url, "dark", PHONE) as firefox:
        yield firefox


def logs_in(firefox: Firefox, token: str) -> None:
    firefox.opens()
    firefox.finds("button", "Log in")
    firefox.fills("Token", token)
    firefox.presses("Enter")
    firefox.finds("navigation", "Pages")


def test_from_the_login_to_a_compared_run_with_the_mouse(desk: Firefox, kept: Service) -> None:
    logs_in(desk, kept.tokens["run"])
    assert desk.breaches() == []
    desk.clicks("link", "Launch")
    desk.clicks("button", "Presets")
    desk.finds("dialog")
    desk.types("quick")
    desk.presses("Enter")
    desk.waits("document.querySelector('dialog[open]') === null")
    assert desk.breaches() == []
    desk.presses("Control+Enter")
    desk.waits("/#\\/runs\\/[0-9a-f]{20}/.test(location.hash)")
    desk.waits(_DRAWN)
    desk.waits("/done/.test(document.querySelector('h1').innerText)")
    assert desk.breaches() == []
    run = str(desk.evaluate("location.hash")).rpartition("/")[2]
    desk.presses("+")
    desk.waits("/at=/.test(location.hash)")
    desk.clicks("link", "Compare")
    desk.waits("location.hash.startsWith('#/compare')")
    desk.clicks("link", "Runs")
    desk.finds("table", "Runs")
    assert desk.breaches() == []
    with kept.client() as client:
        assert client.get(f"{ROOT}/runs/{run}").json()["status"] == "done"


def test_a_run_on_a_phone_in_the_dark(phone: Firefox, kept: Service) -> None:
    logs_in(phone, kept.tokens["read"])
    for view in ("", "runs", f"runs/{kept.run}", f"experiments/{kept.experiment}", "launch", "papers", "lab"):
        phone.opens(view)
        phone.waits("document.querySelector('main h1') !== null && document.querySelector('[aria-busy=true]') === null")
        if "runs/" in view:
            phone.waits(_DRAWN)
        assert phone.evaluate(_WIDE) == 0, view
        assert phone.breaches() == [], view
    assert "dark" in str(phone.evaluate(_DARK))


def test_a_run_is_launched_and_read_with_keys_alone(desk: Firefox, service: Service) -> None:
    logs_in(desk, service.tokens["run"])
    desk.presses("Control+k")
    desk.finds("dialog")
    desk.types("launch")
    desk.presses("Enter")
    desk.waits("location.hash.startsWith('#/launch')")
    desk.waits("document.querySelector('main h1')?.innerText === 'Launch'")
    desk.tabs_to("^Duration")
    desk.presses("Control+a")
    desk.types("2 s")
    desk.tabs_to("^Warmup")
    desk.presses("Control+a")
    desk.presses("Backspace")
    desk.presses("Control+Enter")
    desk.waits("/#\\/runs\\/[0-9a-f]{20}/.test(location.hash)")
    desk.waits(_DRAWN)
    # The values of a chart: the keys move a pointer, whose values a screen reader says.
    desk.tabs_to(_POINTER)
    desk.presses("Home")
    for _ in range(3):
        desk.presses("Shift+ArrowRight")
    desk.waits(r"/^0\.\d+ s, .*packets/.test(document.activeElement.getAttribute('aria-valuetext'))")
