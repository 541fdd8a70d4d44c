"""Title, tags and comment of an experiment: given in Launch, shown and found in lists, changed later."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.axe import breaches
from tests.browser.launch.steps import button, launched
from tests.browser.visitor import Visitor
from tests.support.service import Service


def test_words_of_an_experiment_from_launch_to_lists(at_launch: Page, visitor: Visitor, service: Service) -> None:
    page = at_launch
    page.get_by_label("Duration").fill("2 s")
    page.get_by_label("Warmup").fill("")
    page.get_by_text("Title, tags, comment").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Title", exact=True).fill("Überlast nach 日本")
    page.get_by_label("Tags", exact=True).fill("night shift, chile")
    page.get_by_label("Comment", exact=True).fill("as on\nMonday")
    visitor.pictures("launch-annotation")
    button(page).click()
    found = launched(page, service)
    assert (found["title"], found["tags"], found["comment"]) == (
        "Überlast nach 日本", ["night shift", "chile"], "as on\nMonday",
    )  # fmt: skip
    visitor.opens("runs?what=experiments&q=%C3%BCberlast")
    expect(page.get_by_role("link", name="Überlast nach 日本")).to_be_visible()
    expect(page.get_by_text("chile", exact=True)).to_be_visible()
    # A run is found by the tags of its experiment.
    visitor.opens("runs?q=tag=night-shift")
    expect(page.get_by_role("link", name="my-experiment")).to_have_count(1)
    visitor.opens(f"experiments/{found['id']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Überlast nach 日本")
    expect(page.get_by_text("as on\nMonday")).to_be_visible()
    page.get_by_role("button", name="Annotate").click()
    dialog = page.get_by_role("dialog", name="Annotate this experiment")
    visitor.pictures("annotate")
    assert breaches(page) == []
    dialog.get_by_label("Title").fill("")
    dialog.get_by_label("Tags").fill("chile, day")
    dialog.get_by_role("button", name="Save").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("my-experiment")
    tags = page.get_by_role("list", name="Tags")
    expect(tags.get_by_role("link")).to_have_text(["chile", "day"])
    # A press finds the other runs with it.
    tags.get_by_role("link", name="day").click()
    expect(page.get_by_role("link", name="my-experiment")).to_have_count(1)
    # The next one is submitted with the same words.
    visitor.opens(f"launch?again={found['id']}")
    expect(page.get_by_label("Comment", exact=True)).to_have_value("as on\nMonday")
