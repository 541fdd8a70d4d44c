"""Addresses of things that are not there, and filters that are not valid: each error is in words, and has a way on."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor

# Words for programs and for the command line.
FOREIGN = re.compile(r"\^|\\d|\b(GET|POST|PUT|DELETE) /|`longhaul |Authorization|query\.|body\.|path\.id")


@pytest.mark.parametrize(
    ("view", "says", "way_on"),
    [
        ("runs/deadbeef", "There is no run deadbeef", "All runs"),
        ("experiments/5d41402abc4b2a76", "There is no experiment 5d41402abc4b2a76", "All experiments"),
        ("papers/nope", "There is no paper nope", "All papers"),
        ("papers/agilesd/fig99", "There is no figure fig99 of agilesd", "All papers"),
        ("compare?runs=deadbeef", "None of these runs can be drawn", "Remove deadbeef"),
        ("launch?from=nope/x", "it is not a shipped experiment", "Presets"),
        ("runs?rtt=banana", "'banana' does not have the allowed form, for instance 300 ms", "Clear"),
        ("runs?sort=beauty", "an order is", "Try again"),
        ("lab/nope", "The lab has no such page", "Queue"),
        ("nowhere", "No page has the address", "All runs"),
    ],
)
def test_errors_are_in_words_with_a_way_on(visitor: Visitor, view: str, says: str, way_on: str) -> None:
    page = visitor.enters("run", view)
    main = page.get_by_role("main")
    expect(main.get_by_text(says)).to_be_visible()
    expect(main.get_by_role("link", name=way_on).or_(main.get_by_role("button", name=way_on)).first).to_be_visible()
    assert not FOREIGN.search(main.inner_text()), main.inner_text()
