"""Files of experiments that are dropped on Launch and on Start, or chosen by keys."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.launch.steps import EDITOR, SHORT, button, data, draft, launched, replace_text
from tests.browser.visitor import Visitor
from tests.support.service import Service

_HELD = """([name, text]) => {
    const held = new DataTransfer();
    held.items.add(new File([text], name));
    return held;
}"""
WRITTEN: dict[str, Any] = {
    "experiment": "from-json",
    "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "loss": 0.001},
    "flows": [{"name": "one", "cc": "reno"}],
    "duration": "2 s",
    "sweep": {"path.rtt": ["20 ms"]},
}


def test_a_dropped_file_is_the_draft_and_the_draft_before_returns(
    at_launch: Page, visitor: Visitor, service: Service
) -> None:
    page = at_launch
    mine = SHORT.replace("short", "mine")
    replace_text(page, mine)
    # The editor itself would insert the text.
    _drop(page, ".cm-content", "Short copy (1).YAML", SHORT, visitor)
    expect(page.get_by_label("Name", exact=True).first).to_have_value("short")
    assert draft(page) == SHORT
    page.get_by_role("button", name="Restore previous draft").click()
    expect(page.get_by_label("Name", exact=True).first).to_have_value("mine")
    assert draft(page) == mine

    for name, text, reason in (
        ("traffic.pcap", "", "traffic.pcap is not the file of an experiment, which ends in .yaml, .yml or .json."),
        ("list.json", "[1]", "list.json has no fields of an experiment."),
        ("broken.json", "{", "broken.json is not valid JSON"),
        ("large.yaml", "#" * 1_000_001, "large.yaml is larger than 1 MB"),
    ):
        _drop(page, "main", name, text)
        expect(page.get_by_role("alert")).to_contain_text(reason)
        assert draft(page) == mine
    visitor.pictures("launch-refused-file")

    opening = page.get_by_role("button", name="Open a file")
    with page.expect_file_chooser() as chooser:
        opening.press("Enter")
    chooser.value.set_files({"name": "w.json", "mimeType": "application/json", "buffer": json.dumps(WRITTEN).encode()})
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_label("Name", exact=True).first).to_have_value("from-json")
    assert data(page) == WRITTEN
    button(page).click()
    found = launched(page, service)
    assert (found["status"], found["name"]) == ("done", "from-json")


def test_a_file_dropped_on_start_opens_launch(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("run", "")
    expect(page.get_by_role("list", name="Latest experiments")).to_be_visible()
    _drop(page, "main", "notes.txt", "hello")
    expect(page.get_by_role("alert")).to_contain_text("notes.txt is not the file of an experiment")
    _drop(page, "main", "short.yml", SHORT)
    expect(page).to_have_url(f"{kept.url}/#/launch")
    expect(page.get_by_role("textbox", name=EDITOR)).to_contain_text("experiment: short")


def _drop(page: Page, place: str, name: str, text: str, visitor: Visitor | None = None) -> None:
    """Drag a file over a place and drop it there; with a visitor, take a picture before."""
    held = page.evaluate_handle(_HELD, [name, text])
    page.dispatch_event(place, "dragover", {"dataTransfer": held})
    expect(page.get_by_text("Drop the file to open it in Launch")).to_be_visible()
    if visitor is not None:
        visitor.pictures("launch-drop")
    page.dispatch_event(place, "drop", {"dataTransfer": held})
    expect(page.get_by_text("Drop the file to open it in Launch")).to_have_count(0)
