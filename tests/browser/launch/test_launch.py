"""Launch: experiments by form, as text, from a preset, with errors, by dragging, and with keys only."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from longhaul.orchestrator.spec.load import shipped_text
from tests.browser.launch.steps import (
    EDITOR,
    KEY_MS,
    SHORT,
    accept_completion,
    button,
    data,
    draft,
    launched,
    replace_text,
)
from tests.browser.visitor import Visitor
from tests.support.service import Service


def test_form_marks_an_error_and_launches_two_flows(at_launch: Page, visitor: Visitor, service: Service) -> None:
    page = at_launch
    page.get_by_label("Name", exact=True).first.fill("by-form")
    page.get_by_label("Duration").fill("3 s")
    page.get_by_label("Warmup").fill("")
    bandwidth = page.get_by_label("Bandwidth", exact=True)
    bandwidth.fill("10 Mbits")
    expect(bandwidth).to_have_attribute("aria-invalid", "true")
    # The error is at the field, under the line of the text, and next to the disabled button.
    expect(page.get_by_text("Allowed: a rate from")).to_have_count(3)
    expect(button(page)).to_be_disabled()
    visitor.pictures("launch-mistake")
    bandwidth.fill("10 Mbit/s")
    expect(bandwidth).to_have_attribute("aria-invalid", "false")
    page.get_by_role("button", name="Add flow").click()
    # A flow is named after its congestion control, until the user names it.
    added = page.get_by_role("group", name="Flow bbr")
    added.get_by_label("Congestion control").select_option("reno")
    second = page.get_by_role("group", name="Flow reno")
    second.get_by_role("button", name="Duplicate flow reno").click()
    third = page.get_by_role("group", name="Flow reno-2")
    third.get_by_label("Name").fill("mine")
    page.get_by_role("group", name="Flow mine").get_by_label("Congestion control").select_option("bic")
    page.get_by_role("group", name="Flow mine").get_by_role("button", name="Remove flow mine").click()
    second.get_by_label("Start", exact=True).fill("0.5 s")
    expect(page.get_by_role("img", name=re.compile("flow reno over a1, s1, b1"))).to_be_visible()
    visitor.pictures("launch")
    assert draft(page).startswith("# Form and text show the same experiment")
    button(page).click()
    found = launched(page, service)
    assert found["status"] == "done"
    assert [(flow["name"], flow["cc"], flow["start"]) for flow in found["spec"]["flows"]] == [
        ("cubic", "cubic", "0 s"), ("reno", "reno", "0.5 s"),
    ]  # fmt: skip


def test_form_captures_packets(at_launch: Page, service: Service) -> None:
    page = at_launch
    page.get_by_label("Name", exact=True).first.fill("captured")
    page.get_by_label("Duration").fill("2 s")
    page.get_by_label("Warmup").fill("")
    page.locator("summary", has_text="Packets").click()
    page.get_by_role("button", name="Capture packets").click()
    page.get_by_label("Priority").select_option("High (5)")
    where = page.get_by_label("Captured at")
    expect(where).to_have_value("bottleneck")
    where.fill("")
    # A comma at the end stays while a list is being typed.
    where.press_sequentially("bottleneck, a9", delay=KEY_MS)
    assert data(page)["capture"] == {"at": ["bottleneck", "a9"]}
    expect(where).to_have_attribute("aria-invalid", "true")
    where.press("Backspace")
    where.press("1")
    page.get_by_label("Bytes of each packet").fill("128")
    assert data(page)["capture"] == {"at": ["bottleneck", "a1"], "snap": 128}
    button(page).click()
    found = launched(page, service)
    assert (found["status"], found["priority"]) == ("done", 5)
    expect(page.get_by_role("link", name=re.compile("capture.pcapng"))).to_be_visible()


def test_text_marks_an_error_and_launches_two_flows(at_launch: Page, service: Service) -> None:
    page = at_launch
    replace_text(page, SHORT.replace("cc: reno", "cc: rino").replace("short", "by-text"))
    message = page.locator(".lh-message")
    expect(message).to_contain_text("Allowed: one of reno, cubic")
    expect(button(page)).to_be_disabled()
    message.get_by_role("button", name="Use reno").click()
    expect(message).to_have_count(0)
    expect(page.get_by_role("group", name="Flow two").get_by_label("Congestion control")).to_have_value("reno")
    assert "# a slow one" in draft(page)
    page.get_by_role("textbox", name=EDITOR).press("Control+Enter")
    found = launched(page, service)
    assert (found["status"], found["name"], len(found["spec"]["flows"])) == ("done", "by-text", 2)


def test_invalid_yaml_is_marked_in_its_line_and_disables_the_form(at_launch: Page) -> None:
    page = at_launch
    replace_text(page, SHORT.replace("cc: cubic}", "cc: cubic"))
    expect(page.locator(".lh-message").first).to_be_visible()
    expect(page.get_by_role("group", name="Flow two")).to_be_hidden()
    expect(button(page)).to_be_disabled()
    page.keyboard.press("Control+z")
    expect(page.locator(".lh-message")).to_have_count(0)
    expect(page.get_by_label("Duration")).to_have_value("30 s")


def test_fields_and_names_are_completed(at_launch: Page) -> None:
    page = at_launch
    replace_text(page, "experiment: completed\npa")
    page.keyboard.type("th", delay=KEY_MS)
    options = page.locator(".cm-tooltip-autocomplete [role=option]")
    expect(options.first).to_contain_text("path")
    accept_completion(page)
    page.keyboard.type(" {bandwidth: 10", delay=KEY_MS)
    page.keyboard.type(" M", delay=KEY_MS)
    expect(options.first).to_contain_text("Mbit/s")
    accept_completion(page)
    page.keyboard.type(", rtt: 20 ms}\nflows: [{name: one, cc: app", delay=KEY_MS)
    expect(options.first).to_contain_text("apptcp")
    accept_completion(page)
    page.keyboard.press("Control+End")
    page.keyboard.type("\nduration: 1 s", delay=KEY_MS)
    expect(button(page)).to_be_enabled()
    assert data(page) == {
        "experiment": "completed",
        "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms"},
        "flows": [{"name": "one", "cc": "apptcp"}],
        "duration": "1 s",
    }


def test_preset_is_found_and_launched_and_kept_runs_are_counted(kept: Service, visitor: Visitor) -> None:
    page = visitor.logs_in("run", "launch")
    page.get_by_label("Duration").fill("31 s")
    page.get_by_role("button", name="Presets").click()
    listed = page.get_by_role("listbox", name="Experiments")
    start = listed.get_by_role("group", name="Start here")
    expect(start.get_by_role("option")).to_have_count(7)
    expect(start.get_by_role("option", name=re.compile("^quick 1 run of 10 s, about"))).to_be_visible()
    expect(start.locator("svg")).to_have_count(7)
    visitor.pictures("launch-presets")
    page.get_by_label("Search experiments").fill("data centres barrier")
    expect(listed.get_by_role("option")).to_have_count(2)
    page.get_by_label("Search experiments").fill("fills cubic")
    page.get_by_role("option", name=re.compile("^quick")).click()
    expect(page.get_by_text("kept already: the results appear at once")).to_be_visible()
    assert "# The smallest useful run" in draft(page)
    page.get_by_role("button", name="Restore previous draft").click()
    expect(page.get_by_label("Duration")).to_have_value("31 s")
    visitor.opens("launch?from=quick")
    expect(page.get_by_label("Duration")).to_have_value("10 s")
    button(page).click()
    found = launched(page, kept)
    assert (found["status"], found["progress"]["cached"]) == ("done", 1)


def test_launched_experiment_is_changed_and_launched_again(kept: Service, visitor: Visitor) -> None:
    page = visitor.enters("run", f"runs/{kept.run}")
    page.get_by_role("link", name="Change and launch").click()
    expect(page.get_by_label("Name", exact=True).first).to_have_value("quick")
    # The text has no values that equal the defaults.
    assert draft(page) == shipped_text("quick").partition("\n")[2]
    expect(page.get_by_text("kept already: the results appear at once")).to_be_visible()
    page.get_by_role("textbox", name="RTT").first.fill("55 ms")
    expect(page.get_by_role("img", name=re.compile("27.5 ms each way"))).to_be_visible()
    button(page).click()
    found = launched(page, kept)
    assert (found["status"], found["spec"]["path"]["rtt"]) == ("done", "55 ms")


def test_flows_and_changes_are_dragged_along_the_timeline(at_launch: Page) -> None:
    page = at_launch
    replace_text(page, SHORT)
    line = page.get_by_role("group", name="Timeline")
    start = line.get_by_role("slider", name="two starts")
    expect(start).to_have_attribute("aria-valuetext", "1 s")
    start.scroll_into_view_if_needed()
    whole = page.locator("[data-time]").bounding_box()
    handle = start.bounding_box()
    assert whole is not None and handle is not None
    second = whole["width"] / 4
    page.mouse.move(handle["x"] + handle["width"] / 2, handle["y"] + handle["height"] / 2)
    page.mouse.down()
    page.mouse.move(handle["x"] + handle["width"] / 2 + second, handle["y"], steps=5)
    page.mouse.up()
    expect(start).to_have_attribute("aria-valuetext", "2 s")
    assert "{name: two, cc: reno, start: 2 s, stop: 3 s}" in draft(page)
    start.press("ArrowLeft")
    expect(start).to_have_attribute("aria-valuetext", "1.98 s")
    # A stop at the end of the run and a start at 0 s are not written.
    line.get_by_role("slider", name="two stops").press("End")
    start.press("Home")
    assert data(page)["flows"][1] == {"name": "two", "cc": "reno"}
    line.get_by_role("slider", name="Change: bandwidth 5 Mbit/s").press("Shift+ArrowRight")
    assert data(page)["schedule"][0]["at"] == "2.2 s"
    assert "# a slow one" in draft(page)


def test_links_their_changes_and_phases_are_set_by_form(at_launch: Page, visitor: Visitor, service: Service) -> None:
    page = at_launch
    replace_text(page, SHORT)
    page.get_by_label("Topology").select_option("parking_lot")
    page.get_by_text("Single links").click()
    links = page.get_by_label("Set a link")
    links.select_option("s1-s2")
    link = page.get_by_role("group", name="Link s1-s2")
    link.get_by_label("Bandwidth").fill("8 Mbit/s")
    link.get_by_label("Add a field to link s1-s2").select_option("loss")
    link.get_by_label("Loss").fill("lots")
    expect(link.get_by_label("Loss")).to_have_attribute("aria-invalid", "true")
    link.get_by_label("Loss").fill("1e-4")
    expect(link.get_by_label("Loss")).to_have_attribute("aria-invalid", "false")
    page.get_by_label("Add a field to change 1").select_option("links.s2-s3.rtt")
    page.get_by_label("s2-s3: rtt", exact=True).fill("30 ms")
    page.get_by_role("button", name="Add phase").click()
    page.get_by_role("button", name="Add phase").click()
    first = page.get_by_role("group", name="Phase early")
    first.get_by_label("To").fill("1 s")
    first.get_by_label("Name").fill("begin")
    page.get_by_role("button", name="Remove phase late").click()
    visitor.pictures("launch-links")
    expect(button(page)).to_be_enabled()
    button(page).click()
    found = launched(page, service)
    assert found["status"] == "done"
    spec = found["spec"]
    assert spec["links"]["s1-s2"] == {"bandwidth": "8 Mbit/s", "loss": "1e-4"}
    assert spec["schedule"][0]["links"] == {"s2-s3": {"rtt": "30 ms"}}
    assert spec["phases"] == {"begin": ["0 s", "1 s"]}


def test_host_is_given_another_kernel_than_its_receiver(at_launch: Page, visitor: Visitor, service: Service) -> None:
    page = at_launch
    replace_text(page, f"{SHORT}nodes: {{c9: {{kernel: '6.1'}}}}\n")
    expect(page.get_by_text("no host has this name").first).to_be_visible()
    page.get_by_role("button", name="Remove the settings of host c9").click()
    page.get_by_text("Kernels of single hosts").click()
    page.get_by_label("Set a host's kernel").select_option("a1")
    page.get_by_role("group", name="Host a1").get_by_label("Kernel").select_option("6.1")
    visitor.pictures("launch-kernels")
    button(page).click()
    found = launched(page, service)
    assert (found["status"], found["spec"]["nodes"]) == ("done", {"a1": {"kernel": "6.1"}})
    with service.client() as client:
        document = client.get(found["runs"][0]).json()["document"]
    assert document["parts"] == 2
    assert [release[:4] for release in document["kernel"].split(", ")] == ["6.1.", "6.12"]


def test_keys_only(at_launch: Page, service: Service) -> None:
    page = at_launch
    page.locator("body").press("p")
    page.keyboard.type("smallest quick")
    page.keyboard.press("Escape")
    expect(page.get_by_label("Search experiments")).to_be_hidden()
    page.locator("body").press("p")
    page.keyboard.type("quick")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Name", exact=True).first).to_have_value("quick")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement?.labels?.[0]?.textContent") == "RTT":
            break
    page.keyboard.press("Control+a")
    page.keyboard.type("35 ms")
    expect(page.get_by_role("img", name=re.compile("17.5 ms each way"))).to_be_visible()
    page.keyboard.press("Control+Enter")
    found = launched(page, service)
    assert (found["status"], found["spec"]["path"]["rtt"]) == ("done", "35 ms")


def test_draft_outlives_a_reload_and_is_shared_by_link(at_launch: Page, visitor: Visitor, service: Service) -> None:
    page = at_launch
    replace_text(page, SHORT)
    expect(button(page)).to_be_enabled()
    page.reload()
    expect(page.get_by_role("group", name="Flow two")).to_be_visible()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Copied")).to_be_visible()
    link = str(page.evaluate("navigator.clipboard.readText()"))
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.goto(link)
    expect(page.get_by_role("group", name="Flow two")).to_be_visible()
    assert draft(page) == SHORT
    expect(page).to_have_url(f"{service.url}/#/launch")


def test_backends_show_whether_they_are_ready(at_launch: Page) -> None:
    page = at_launch
    places = page.get_by_role("radiogroup", name="Backend")
    expect(places.get_by_role("radio")).to_have_count(5)
    expect(places.get_by_text(re.compile("^(not )?ready$"))).to_have_count(5)
    places.get_by_role("radio", name=re.compile("^Real hosts")).check()
    expect(page.get_by_text("This lab has no physical hosts yet")).to_be_visible()
    places.get_by_role("radio", name=re.compile("^Mininet in a guest, virtual time")).check()
    expect(
        page.get_by_role("status").filter(has_text=re.compile(r"1 run · about|This backend is not ready"))
    ).to_be_visible()
    page.reload()
    expect(places.get_by_role("radio", name=re.compile("^Mininet in a guest, virtual time"))).to_be_checked()


def test_phone_switches_between_form_and_text(phone: Visitor) -> None:
    page = phone.logs_in("run", "launch")
    name = page.get_by_label("Name", exact=True).first
    expect(name).to_be_in_viewport()
    expect(page.get_by_role("textbox", name=EDITOR)).to_be_hidden()
    # A phone's browser zooms in on smaller letters.
    fields = page.locator("input:visible, select:visible, textarea:visible")
    assert min(fields.evaluate_all("all => all.map(one => parseFloat(getComputedStyle(one).fontSize))")) >= 16
    drawing = page.get_by_role("img", name=re.compile("^The path"))
    expect(drawing).not_to_be_in_viewport()
    phone.pictures("launch-phone")
    page.get_by_text("Text", exact=True).click()
    expect(page.get_by_role("textbox", name=EDITOR)).to_be_visible()
    expect(page.get_by_label("Duration")).to_be_hidden()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    expect(page.get_by_role("textbox", name=EDITOR)).to_be_in_viewport()
    size = page.get_by_role("textbox", name=EDITOR).evaluate("one => parseFloat(getComputedStyle(one).fontSize)")
    assert size >= 16
