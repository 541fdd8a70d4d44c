"""Lab: the run queue, leases of hosts, trials of modules, tokens, and pages for admins only."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.visitor import PHONE, Visitor
from tests.support.service import ROOT, Service, served
from tests.support.small_linux import BETA_PATCH

# Two hosts that no test connects to: the page shows their policy anyway.
POLICY = """\
hosts:
  hk:
    ssh: {address: 192.0.2.1}
    traffic: {address: 192.0.2.11, device: eth1}
    ports: 10000-10099
    rate: 100 Mbit/s
    run_volume: 2 GB
    day_volume: 50 GB
    longest: 10 min
    maintenance: [{weekly: Mon 01:00-23:00}, {weekly: Wed 02:00-04:00}]
  chicago:
    ssh: {address: 192.0.2.2}
    traffic: {address: 192.0.2.12, device: eth1}
    ports: 10000-10099
    rate: 1 Gbit/s
    run_volume: 2 GB
    day_volume: 50 GB
    longest: 10 min
paths:
  - {between: [hk, chicago], provisioned: true}
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("lab")
    policy = folder / "hosts.yml"
    policy.write_text(POLICY)
    with served(folder / "home", LONGHAUL_JOBS="1", LONGHAUL_HOSTS=str(policy)) as running:
        yield running


def test_queue_shows_running_and_next_runs(visitor: Visitor, service: Service) -> None:
    page = visitor.logs_in("run", "lab")
    expect(page.get_by_text("No run is running.")).to_be_visible()
    expect(page.get_by_text("No run is queued.")).to_be_visible()
    workers = page.get_by_role("table", name="Workers")
    expect(workers.locator("tbody tr")).to_have_count(1)
    expect(workers).to_contain_text("connected")
    swept = ["duration=20000 s", "sweep={flows.app.cc: [cubic, reno, bic]}"]
    made = service.submit({"shipped": "quick", "set": swept, "priority": 3})
    running, waiting = page.get_by_role("table", name="Running"), page.get_by_role("table", name="Next")
    expect(running.locator("tbody tr")).to_have_count(1)
    rows = waiting.locator("tbody tr")
    expect(rows).to_have_count(2)
    # With the name of the flow: a sweep may vary the same field of several flows.
    expect(waiting).to_contain_text("app cc reno, seed 1")
    expect(rows.first.get_by_label("Priority of quick")).to_have_value("3")
    # A single run does not wait for the sweep of its owner.
    service.submit({"shipped": "quick", "set": ["duration=20000 s", "experiment=single"], "priority": 3})
    expect(rows.first).to_contain_text("single")
    expect(rows.first).to_contain_text(re.compile("about .+about "))
    rows.first.get_by_label("Priority of single").select_option("Low (-5)")
    expect(rows.last).to_contain_text("single")
    rows.last.get_by_label("Priority of single").select_option("First of all (10)")
    expect(rows.first).to_contain_text("single")
    expect(running.get_by_role("progressbar")).to_be_visible()
    expect(page.get_by_role("table", name="Owners")).to_contain_text("runer")
    visitor.pictures("lab-queue")
    rows.first.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the run").click()
    expect(rows).to_have_count(2)
    # A reader of the lab sees the queue and cannot change it.
    with service.client("read") as client:
        assert client.patch(f"{ROOT}/experiments/{made['id']}", json={"priority": 1}).status_code == 403
    rows.first.get_by_role("button", name="Cancel").click()
    page.get_by_role("button", name="Cancel the experiment").click()
    expect(page.get_by_text("No run is running.")).to_be_visible()
    with service.client() as client:
        ended = client.patch(f"{ROOT}/experiments/{made['id']}", json={"priority": 1})
    assert ended.status_code == 409, ended.text


def test_host_is_leased_and_released(visitor: Visitor) -> None:
    page = visitor.logs_in("run", "lab/hosts")
    host = page.get_by_role("listitem").filter(has_text="root@")
    expect(host).to_contain_text("free")
    host.get_by_role("button", name="Lease").click()
    page.get_by_role("dialog").get_by_label("Duration").select_option("4 hours")
    page.get_by_role("dialog").get_by_label("Purpose").fill("kernel tests")
    page.get_by_role("dialog").get_by_role("button", name="Lease").click()
    expect(host).to_contain_text(re.compile(r"leased by runer, (4 h|3 h 59 min) left"))
    expect(host).to_contain_text("kernel tests")
    expect(host.get_by_role("img")).to_have_attribute("aria-label", re.compile("leased by runer until"))
    visitor.pictures("lab-hosts")
    # The lease outlives a reload.
    page.reload()
    host.get_by_role("button", name="Release").click()
    expect(host).to_contain_text("free")


def test_physical_hosts_show_their_policy_and_are_stopped_together(visitor: Visitor) -> None:
    page = visitor.logs_in("run", "lab/hosts?span=week")
    host = page.get_by_role("listitem").filter(has=page.get_by_text("hk", exact=True))
    expect(host).to_contain_text(
        "At most 100 Mbit/s, 2 GB per run, 50 GB per day, 10 min at a time; with chicago (provisioned)"
    )
    expect(host.get_by_role("img")).to_have_attribute("aria-label", re.compile("in maintenance from"))
    visitor.pictures("lab-hosts-real")
    page.get_by_role("button", name="Stop all").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Stop all").click()
    expect(dialog.get_by_role("status")).to_contain_text(re.compile("0 experiments cancelled on .*hk"))
    dialog.get_by_role("button", name="Close").click()
    expect(host).not_to_contain_text("free")


def test_trial_of_a_module(visitor: Visitor) -> None:
    page = visitor.logs_in("run", "lab/modules")
    row = page.get_by_role("row").filter(has=page.get_by_text("htcp", exact=True))
    expect(row).to_contain_text("built")
    expect(row).to_contain_text("never")
    row.get_by_role("button", name="Run trial of htcp").click()
    expect(row).to_contain_text("done")
    row.get_by_text("htcp", exact=True).click()
    expect(row).to_contain_text("use_rtt_scaling")
    visitor.pictures("lab-modules")


def test_token_is_created_shown_once_used_and_revoked(browser: Browser, visitor: Visitor, service: Service) -> None:
    page = visitor.logs_in("admin", "lab/tokens")
    page.get_by_label("Name", exact=True).fill("nightly")
    page.get_by_label("Scope", exact=True).select_option("read")
    page.get_by_role("button", name="Create", exact=True).click()
    dialog = page.get_by_role("dialog", name="Token of nightly")
    token = dialog.get_by_test_id("secret").inner_text()
    assert token.startswith("lh_")
    page.keyboard.press("Escape")
    expect(dialog).to_be_visible()
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row").filter(has=page.get_by_text("nightly", exact=True))
    expect(row).to_contain_text("active")
    visitor.pictures("lab-tokens")
    assert token not in page.content()
    page.reload()
    expect(row).to_be_visible()
    assert token not in page.content()
    with service.as_token(token) as user:
        assert user.get(f"{ROOT}/runs").status_code == 200
        assert user.get(f"{ROOT}/tokens").status_code == 403
        row.get_by_role("button", name="Revoke nightly").click()
        page.get_by_role("dialog").get_by_role("button", name="Revoke nightly").click()
        expect(row).to_contain_text("revoked")
        assert user.get(f"{ROOT}/runs").status_code == 401
    # The service refuses the same name twice, and the page shows its error.
    page.get_by_label("Name", exact=True).fill("reader")
    page.get_by_role("button", name="Create", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("revoke it first")


def test_audit_log_names_user_and_action(visitor: Visitor, service: Service) -> None:
    page = visitor.page
    with service.client("read") as client:
        assert client.post(f"{ROOT}/tokens", json={"name": "mine", "scope": "admin"}).status_code == 403
    visitor.logs_in("admin", "lab/audit?q=reader")
    row = page.get_by_role("table", name="Audit").locator("tbody tr").first
    expect(row).to_contain_text("make token")
    expect(row).to_contain_text("403")
    visitor.pictures("lab-audit")


def test_service_shows_its_version_and_configuration(visitor: Visitor) -> None:
    page = visitor.logs_in("read", "lab/service")
    with visitor.service.client("read") as client:
        about = client.get(f"{ROOT}/about").json()
    expect(page.get_by_text(f"{about['version']}, Python {about['python']}")).to_be_visible()
    expect(page.get_by_text("on this machine, 1 at a time")).to_be_visible()
    expect(page.get_by_role("link", name="OpenAPI document")).to_be_visible()
    visitor.pictures("lab-service")


@pytest.mark.parametrize("scope", ["read", "run"])
def test_admin_pages_are_hidden_and_refused(visitor: Visitor, scope: str) -> None:
    page = visitor.logs_in(scope, "lab")
    parts = page.get_by_role("navigation", name="Parts of the lab")
    expect(parts.get_by_role("link", name="Queue")).to_be_visible()
    expect(parts.get_by_role("link", name="Tokens")).to_have_count(0)
    expect(parts.get_by_role("link", name="Audit")).to_have_count(0)
    visitor.opens("lab/tokens")
    expect(page.get_by_role("heading", name="Not allowed")).to_be_visible()
    assert [visitor.is_answered("GET", one) for one in ("tokens", "audit")] == [403, 403]
    if scope == "read":
        visitor.opens("lab/hosts")
        expect(page.get_by_role("listitem").filter(has_text="root@")).to_be_visible()
        expect(page.get_by_role("button", name="Lease")).to_have_count(0)
        visitor.opens("lab/modules")
        expect(page.get_by_role("table", name="Kernels")).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("^Run trial"))).to_have_count(0)


def test_physical_hosts_fit_on_a_phone(browser: Browser, service: Service) -> None:
    with Visitor.comes(browser, service, viewport=PHONE, has_touch=True, is_mobile=True) as visitor:
        visitor.logs_in("run", "lab/hosts")
        expect(visitor.page.get_by_text("hk", exact=True)).to_be_visible()
        assert visitor.page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        visitor.pictures("lab-phone")


# The first patch of a machine for a version reads all of its source.
APPLIED_MS = 300_000


def test_kernel_is_added_from_patches_or_an_archive_and_deleted(browser: Browser, tmp_path: Path) -> None:
    with (
        served(tmp_path / "home", LONGHAUL_USER_CODE="on") as taking,
        Visitor.comes(browser, taking) as visitor,
        taking.client() as client,
    ):
        page = visitor.logs_in("admin", "lab/modules")
        form = page.get_by_role("region", name="New kernel")
        add = form.get_by_role("button", name="Add kernel")
        expect(add).to_be_disabled()
        form.get_by_label("Name", exact=True).fill("test-sent-page")
        for name, text in (
            ("0002-wrong.patch", BETA_PATCH.replace("convergence", "divergence")),
            # Content that no earlier test has built: the cache would have it at once.
            ("0001-beta.patch", BETA_PATCH.replace("= 600;\t/*", f"= 600;\t/* {secrets.token_hex(8)}")),
        ):
            (tmp_path / name).write_text(text)
        patches = form.get_by_label("Patches")
        patches.set_input_files([tmp_path / "0002-wrong.patch", tmp_path / "0001-beta.patch"])
        expect(form).to_contain_text("0001-beta.patch, 0002-wrong.patch")
        add.click()
        expect(form.get_by_role("alert")).to_contain_text(
            "0002-wrong.patch: hunk 1 of net/ipv4/tcp_cubic.c does not fit", timeout=APPLIED_MS
        )
        form.get_by_label("Source").select_option("an archive")
        expect(add).to_be_disabled()
        (tmp_path / "no.tar").write_text("x" * 2000)
        form.get_by_label("Archive").set_input_files(tmp_path / "no.tar")
        add.click()
        expect(form.get_by_role("alert")).to_contain_text("no.tar: it is no tar archive")
        form.get_by_label("Source").select_option("Linux 6.12")
        patches.set_input_files([tmp_path / "0001-beta.patch"])
        form.get_by_label("Configuration").fill("CONFIG_NET_SCH_ETF=m")
        add.click()
        row = page.get_by_role("table", name="Kernels").get_by_role("row").filter(has_text="test-sent-page")
        expect(row).to_contain_text(re.compile("queued|building"), timeout=APPLIED_MS)
        expect(row).to_contain_text(re.compile("copying|laying out|compiling"), timeout=APPLIED_MS)
        row.get_by_text("test-sent-page").click()
        expect(row).to_contain_text("Source: Linux 6.12 of kernel.lock")
        expect(row).to_contain_text("Patch 0001-beta.patch")
        expect(row).to_contain_text("CONFIG_NET_SCH_ETF=m")
        visitor.pictures("lab-kernels")
        row.get_by_role("button", name="Delete test-sent-page").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete test-sent-page").click()
        expect(row).to_have_count(0, timeout=APPLIED_MS)
        assert "test-sent-page" not in [kernel["version"] for kernel in client.get(f"{ROOT}/kernels").json()]


def test_only_admins_of_a_service_that_takes_code_add_kernels(browser: Browser, service: Service) -> None:
    with Visitor.comes(browser, service) as visitor:
        visitor.logs_in("admin", "lab/modules")
        expect(visitor.page.get_by_text("This service takes no kernels.")).to_be_visible()
    with Visitor.comes(browser, service) as visitor:
        visitor.logs_in("run", "lab/modules")
        expect(visitor.page.get_by_role("table", name="Kernels")).to_be_visible()
        expect(visitor.page.get_by_role("region", name="New kernel")).to_have_count(0)
