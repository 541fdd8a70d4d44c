"""Predict: an astronomer types four numbers and gets the table."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.visitor import Visitor
from tests.support.service import Service, served

# Rounds of short runs, several one after the other, on a busy machine.
_RUNS_MS = 180_000


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("predict") / "home") as running:
        yield running


def test_four_numbers_give_the_table(visitor: Visitor) -> None:
    page = visitor.page
    visitor.logs_in("run", "predict")
    button = page.get_by_role("button", name="Predict", exact=True)
    expect(button).to_be_disabled()
    for label, value in (("Size", "200 MB"), ("Rate", "20 Mbit/s"), ("Round trip", "20 ms"), ("Loss", "1e-3")):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Buffer").fill("1 BDP")
    page.get_by_label("Streams").fill("1,2")
    page.get_by_label("Congestion controls").fill("cubic")
    button.click()
    table = page.get_by_role("table", name="Prediction")
    expect(table.locator("tbody tr")).to_have_count(2, timeout=_RUNS_MS)
    expect(page.get_by_role("heading", name=re.compile("Settings for cubic"))).to_be_visible(timeout=_RUNS_MS)
    expect(table).to_contain_text("steady state")
    expect(page.get_by_text("sysctl -w net.ipv4.tcp_congestion_control=cubic")).to_be_visible()
    visitor.pictures("predict")
    # The numbers are in the address: who opens it sees the answer, without a run.
    page.reload()
    expect(table.locator("tbody tr")).to_have_count(2)


def test_wrong_numbers_are_explained(visitor: Visitor) -> None:
    page = visitor.page
    visitor.logs_in("run", "predict")
    for label, value in (("Size", "lots"), ("Rate", "20 Mbit/s"), ("Round trip", "20 ms")):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("write it as in 2 TB")


def test_scope_read_sees_what_is_known(visitor: Visitor) -> None:
    visitor.logs_in("read", "predict?size=2%20GB&rate=30%20Mbit/s&rtt=20%20ms&cc=reno")
    expect(visitor.page.get_by_role("heading", name="Not run yet")).to_be_visible()
    asked = {"size": "2 GB", "path": "30 Mbit/s, 20 ms", "cc": ["reno"]}
    assert visitor.is_answered("POST", "predictions", asked) == 403
