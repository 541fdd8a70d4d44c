"""Damaged runs, their damaged files and their repair; failed runs and their logs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from longhaul.orchestrator.spec.user_code.module_sources import read_sources
from tests.browser.axe import breaches
from tests.browser.visitor import Visitor
from tests.support.command import longhaul
from tests.support.documents import flip
from tests.support.service import ROOT, Service, served

KMOD = Path(__file__).resolve().parents[2] / "kmod"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service for these tests only, which accepts modules, and whose runs are damaged on purpose."""
    with served(tmp_path_factory.mktemp("broken") / "home", LONGHAUL_USER_CODE="on") as running:
        yield running


def a_run(service: Service, seed: int) -> tuple[str, Path]:
    """A kept run and its folder."""
    ended = service.wait(service.submit({"shipped": "quick", "seed": seed})["id"])
    assert ended["status"] == "done", ended
    run = ended["runs"][0].rpartition("/")[2]
    return run, service.home / "runs" / run[:2] / run


def is_fit(page: Page) -> None:
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        assert breaches(page) == []


def test_damaged_run_names_its_file_and_is_repaired(visitor: Visitor, service: Service) -> None:
    """A flipped bit in a file that the charts read."""
    run, folder = a_run(service, 1)
    flip(folder / "acks.parquet", 8 * 5000)
    page = visitor.logs_in("read", f"runs/{run}")
    damage = page.get_by_role("region", name="Damage")
    expect(damage.get_by_role("heading", name="This run is damaged")).to_be_visible()
    expect(damage.get_by_role("list", name="Damaged files")).to_have_text("acks.parquet: its content has changed")
    expect(damage).to_contain_text(f"longhaul verify {run} --repair")
    expect(page.get_by_role("heading", level=1)).to_contain_text("damaged")
    # The damage is reported once, and damaged files have no link.
    expect(page.get_by_role("alert")).to_have_count(0)
    files = page.get_by_role("region", name="Files")
    expect(files.get_by_role("link", name="acks.csv")).to_have_count(0)
    expect(files.get_by_role("link", name="flows.csv")).to_have_count(1)
    visitor.pictures("run-damaged")
    is_fit(page)
    # The command that the page shows repairs the run.
    command = damage.locator("code").last.inner_text().split()
    assert command[0] == "longhaul"
    done = longhaul(*command[1:], home=service.home)
    assert done.returncode == 0, done.stdout + done.stderr
    damage.get_by_role("button", name="Check again").click()
    expect(damage).to_have_count(0)
    expect(page.get_by_role("heading", level=1)).not_to_contain_text("damaged")
    expect(page.get_by_role("region", name="Charts").locator("canvas").first).to_be_visible()
    expect(files.get_by_role("link", name="acks.csv")).to_have_count(1)


def test_missing_file_is_noticed_when_the_page_opens(visitor: Visitor, service: Service) -> None:
    """The charts do not need the file."""
    run, folder = a_run(service, 2)
    (folder / "log.txt").unlink()
    page = visitor.logs_in("read", f"runs/{run}")
    expect(page.get_by_role("list", name="Damaged files")).to_have_text("log.txt: it is missing")
    expect(page.get_by_role("region", name="Charts").locator("canvas").first).to_be_visible()


def test_verify_reads_all_files(visitor: Visitor, service: Service) -> None:
    """A flipped bit in a file that the page does not read."""
    run, folder = a_run(service, 3)
    page = visitor.logs_in("read", f"runs/{run}")
    files = page.get_by_role("region", name="Files")
    files.get_by_role("button", name="Verify").click()
    expect(files.get_by_text(re.compile("whole$"))).to_be_visible()
    flip(folder / "log.txt", 5)
    files.get_by_role("button", name="Verify").click()
    expect(page.get_by_role("list", name="Damaged files")).to_have_text("log.txt: its content has changed")


def test_damaged_manifest_links_to_launching_the_experiment(visitor: Visitor, service: Service) -> None:
    run, folder = a_run(service, 4)
    (folder / "manifest.json").write_text("[]")
    page = visitor.logs_in("run", f"runs/{run}")
    damage = page.get_by_role("region", name="Damage")
    expect(damage.get_by_role("list", name="Damaged files")).to_contain_text("manifest.json")
    expect(damage).not_to_contain_text("--repair")
    damage.get_by_role("link", name="Change and launch").click()
    # Launch waits until the text of the experiment is loaded, and does not launch an earlier draft.
    page.get_by_role("button", name=re.compile("^Launch")).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("quick")
    with service.client("read") as client:
        newest = client.get(f"{ROOT}/experiments").json()["items"][0]["id"]
    assert service.wait(newest)["status"] == "done"
    visitor.opens(f"runs/{run}")
    page.reload()
    expect(page.get_by_role("region", name="Charts").locator("canvas").first).to_be_visible()
    expect(page.get_by_role("region", name="Damage")).to_have_count(0)


def test_failed_run_links_to_its_log(visitor: Visitor, service: Service, tmp_path: Path) -> None:
    """A module that panics crashes its guest, and the log contains the panic."""
    source = (KMOD / "tcp_lhfixed.c").read_text().replace("lhfixed", "dying")
    source = source.replace("return tcp_register", 'panic("on purpose");\n\treturn tcp_register')
    (tmp_path / "dying").mkdir()
    (tmp_path / "dying" / "tcp_dying.c").write_text(source)
    key, files = read_sources(str(tmp_path / "dying"))
    with service.client("admin") as client:
        sent = client.put(f"{ROOT}/modules/{key}", json={"files": files}).json()
    spec = {
        "experiment": "dying",
        "modules": [sent["reference"]],
        "path": {"bandwidth": "20 Mbit/s", "rtt": "20 ms"},
        "flows": [{"name": "one", "cc": "dying"}],
        "duration": "2 s",
    }
    ended = service.wait(service.submit({"spec": spec}, "admin")["id"])
    assert ended["status"] == "failed", json.dumps(ended)
    run = ended["runs"][0].rpartition("/")[2]
    page = visitor.logs_in("read", f"runs/{run}")
    failure = page.get_by_role("alert")
    expect(failure.get_by_role("heading", name="The run failed")).to_be_visible()
    with page.expect_download() as download:
        failure.get_by_role("link", name="log.txt").click()
    assert "on purpose" in Path(download.value.path()).read_text(errors="replace")
    visitor.pictures("run-failed")
    is_fit(page)
