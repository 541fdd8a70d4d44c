"""An experiment and its runs as a command line, as Python, as curl and as a notebook: each makes the same runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.axe import breaches
from tests.browser.visitor import PHONE, Visitor
from tests.support.service import ROOT, Service

SWEPT: dict[str, Any] = {
    "experiment": "to-copy",
    "about": 'It\'s $HOME, "日本"',
    "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "ecn": True},
    "flows": [{"name": "app", "cc": "cubic"}, {"name": "voice", "udp": "100 kbit/s"}],
    "duration": "2 s",
    "seed": 5,
    "repeats": 2,
    "sweep": {"path.rtt": ["20 ms", "0.04 s"], "path.loss": [0.001]},
}


@pytest.fixture(scope="module")
def swept(service: Service) -> dict[str, Any]:
    return service.wait(service.submit({"spec": SWEPT})["id"])


@pytest.fixture
def copier(browser: Browser, service: Service) -> Iterator[Page]:
    with Visitor.comes(browser, service, permissions=["clipboard-read", "clipboard-write"]) as visitor:
        visitor.enters("run")
        yield visitor.page


@pytest.fixture(autouse=True)
def token(service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LONGHAUL_TOKEN", service.tokens["run"])
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    mpl.use("Agg")


def test_each_text_makes_the_same_run(copier: Page, service: Service, swept: dict[str, Any], tmp_path: Path) -> None:
    run = swept["runs"][-1].rpartition("/")[2]
    copier.goto(f"{service.url}/#/runs/{run}")
    _all_make(copier, service, [run], tmp_path)


def test_each_text_makes_the_same_experiment(
    copier: Page, service: Service, swept: dict[str, Any], tmp_path: Path
) -> None:
    copier.goto(f"{service.url}/#/experiments/{swept['id']}")
    _all_make(copier, service, [href.rpartition("/")[2] for href in swept["runs"]], tmp_path)


def test_a_shipped_experiment_keeps_its_changes(copier: Page, service: Service, tmp_path: Path) -> None:
    asked = {"shipped": "quick", "set": ["duration=2 s", "path.rtt=8 ms"], "seed": 3, "repeats": 2}
    made = service.wait(service.submit(asked)["id"])
    run = made["runs"][1].rpartition("/")[2]
    copier.goto(f"{service.url}/#/runs/{run}")
    line = _copied(copier, "Command line")
    assert line == "longhaul run quick --set 'duration=2 s' --set 'path.rtt=8 ms' --seed 4 --repeats 1\n"
    assert _by_shell(f"{line.rstrip()} --json", service, tmp_path) == [run]


def test_without_a_clipboard_the_text_is_shown(phone: Visitor, kept: Service) -> None:
    page = phone.page
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    phone.enters("read", f"experiments/{kept.experiment}")
    page.get_by_label("Copy as").tap()
    expect(page.get_by_role("button", name="curl")).to_be_in_viewport(ratio=1)
    phone.pictures("copy-as-phone")
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    page.get_by_role("button", name="Command line").tap()
    expect(page.get_by_role("textbox", name="Command line")).to_have_value("longhaul run quick\n")
    assert breaches(page) == []


def _all_make(page: Page, service: Service, runs: list[str], folder: Path) -> None:
    """Every text of the menu makes these runs."""
    line = _copied(page, "Command line")
    assert _by_shell(f"{line.rstrip()} --json", service, folder) == runs
    assert [run.id for run in _executed(_copied(page, "Python"))["result"].runs] == runs
    assert [run.id for run in _executed(_copied(page, "Python client"))["result"].runs] == runs
    posted = json.loads(_shell(_copied(page, "curl"), folder))
    assert posted["runs"] == [f"{ROOT}/runs/{run}" for run in runs]
    with page.expect_download() as download:
        page.get_by_role("button", name="Notebook").click()
    assert download.value.suggested_filename == "to-copy.ipynb"
    cells = json.loads(Path(download.value.path()).read_text())["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    made = _executed(code)
    assert [run.id for run in made["result"].runs] == runs
    assert len(made["axes"].lines) == len(runs)


def _copied(page: Page, name: str) -> str:
    """The text that an entry of the menu copies."""
    entry = page.get_by_role("button", name=name, exact=True)
    if not entry.is_visible():
        page.get_by_label("Copy as").click()
    entry.click()
    expect(page.get_by_text(f"{name}: copied")).to_be_visible()
    return str(page.evaluate("navigator.clipboard.readText()"))


def _executed(text: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(text, names)
    if "client" in names:
        names["client"].close()
    return names


def _by_shell(text: str, service: Service, folder: Path) -> list[str]:
    """The runs that a command makes on the service."""
    document = json.loads(_shell(text, folder, LONGHAUL_SERVER=service.url))
    return [run["run"] for run in document["runs"]]


def _shell(text: str, folder: Path, **settings: str) -> str:
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, env={**os.environ, **settings}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
