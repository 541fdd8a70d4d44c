"""The Launch page in tests: the draft, the editor, the button, and the experiment that was launched."""

from __future__ import annotations

import re
from typing import Any

import yaml
from playwright.sync_api import Locator, Page, expect

from tests.support.service import ROOT, Service

EDITOR = "Experiment as YAML"
# The delay between two keys of a fast typist.
KEY_MS = 60
SHORT = """experiment: short
path: {bandwidth: 10 Mbit/s, rtt: 20 ms, queue: fq_codel}   # a slow one
flows:
  - {name: one, cc: cubic}
  - {name: two, cc: reno, start: 1 s, stop: 3 s}
schedule:
  - {at: 2 s, path: {bandwidth: 5 Mbit/s}}
duration: 4 s
"""


def draft(page: Page) -> str:
    """The text of the draft in the browser's storage."""
    return str(page.evaluate("JSON.parse(localStorage.getItem('longhaul.draft')).text"))


def data(page: Page) -> dict[str, Any]:
    found = yaml.safe_load(draft(page))
    assert isinstance(found, dict)
    return found


def replace_text(page: Page, text: str) -> None:
    """Paste a text over the whole experiment."""
    editor = page.get_by_role("textbox", name=EDITOR)
    expect(page.locator(".cm-editor")).to_be_visible()
    editor.click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def accept_completion(page: Page) -> None:
    """Accept the offered completion; the editor ignores Enter just after the list has appeared."""
    page.wait_for_timeout(200)
    page.keyboard.press("Enter")


def launched(page: Page, service: Service) -> dict[str, Any]:
    """The launched experiment, after the page has opened it and it has ended."""
    page.wait_for_url(re.compile(r"#/(runs|experiments)/[0-9a-f]+"))
    with service.client() as client:
        newest = client.get(f"{ROOT}/experiments", params={"limit": 1}).json()["items"][0]["id"]
    key = page.url.rpartition("/")[2].partition("?")[0]
    found = service.wait(newest)
    assert key == newest or f"{ROOT}/runs/{key}" in found["runs"]
    return found


def button(page: Page) -> Locator:
    return page.get_by_role("button", name=re.compile(r"^Launch( [\d,]+ runs)?( Ctrl ⏎)?$"))
