"""One browser and one real service for all tests; each test has its own browser profile.

A test also fails if the page wrote an error to its console, threw one, broke its own policy or sent a request to another server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from longhaul.api.static_page import BUILT
from tests.browser.visitor import CHROMIUM, PHONE, Visitor
from tests.support.service import Service, served


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service without runs."""
    assert (BUILT / "index.html").is_file(), "the web page is not built: make web"
    with served(tmp_path_factory.mktemp("browser") / "home") as running:
        yield running


@pytest.fixture(scope="session")
def kept(service: Service) -> Service:
    """The same service, with a kept run of the experiment `quick`."""
    if not service.run:
        ended = service.wait(service.submit({"shipped": "quick"})["id"])
        assert ended["status"] == "done", ended
        service.experiment, service.run = ended["id"], ended["runs"][0].rpartition("/")[2]
    return service


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        )
        yield opened
        opened.close()


@pytest.fixture
def visitor(browser: Browser, service: Service) -> Iterator[Visitor]:
    """A browser on a desktop."""
    with Visitor.comes(browser, service) as one:
        yield one


@pytest.fixture
def phone(browser: Browser, service: Service) -> Iterator[Visitor]:
    """A browser on a phone."""
    with Visitor.comes(browser, service, viewport=PHONE, has_touch=True, is_mobile=True) as one:
        yield one


@pytest.fixture
def at_launch(visitor: Visitor) -> Page:
    """The Launch page with the first draft."""
    visitor.logs_in("run", "launch")
    expect(visitor.page.get_by_role("img", name=re.compile("^The path"))).to_be_visible()
    return visitor.page


@pytest.fixture
def page(visitor: Visitor) -> Page:
    return visitor.page
