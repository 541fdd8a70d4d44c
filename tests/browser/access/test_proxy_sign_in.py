"""A page behind a proxy that authenticates its users: no token, changes from the page alone, no logout."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.proxy import USER_HEADER, below_prefix
from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service, served

ADA: Any = {"username": "ada", "password": "engine"}
SMALL = {"shipped": "quick", "set": ["duration=2 s"]}


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str]]:
    """A service, and the address of the proxy in front of it."""
    settings = {
        "LONGHAUL_PROXY_USER_HEADER": USER_HEADER,
        "LONGHAUL_PROXY_FROM": "127.0.0.1",
        "LONGHAUL_PROXY_SCOPE": "run",
    }
    home = tmp_path_factory.mktemp("proxied") / "home"
    with (
        served(home, 0, **settings) as lab,
        below_prefix(lab.url, "", strips=False, users={"ada": "engine"}) as address,
    ):
        yield lab, address


def test_the_page_needs_no_token_and_changes_work(browser: Browser, proxied: tuple[Service, str]) -> None:
    lab, address = proxied
    with Visitor.comes(browser, lab, at=address, http_credentials=ADA) as visitor:
        page = visitor.page
        visitor.opens("", at=address)
        expect(page.get_by_label("ada, scope run")).to_be_visible()
        expect(page.get_by_label("Token")).to_have_count(0)
        assert visitor.is_answered("POST", "experiments", SMALL) == 201
        # A change by the page itself.
        visitor.opens("launch?from=quick", at=address)
        expect(page.get_by_role("img", name=re.compile("^The path"))).to_be_visible()
        page.get_by_role("button", name=re.compile("^Launch")).click()
        expect(page).to_have_url(re.compile("#/(runs|experiments)/[0-9a-f]+"))
        page.get_by_label("ada, scope run").click()
        expect(page.get_by_text("signed in by the proxy")).to_be_visible()
        expect(page.get_by_role("button", name="Log out")).to_have_count(0)
        visitor.pictures("proxy-menu")
        # A login link of a token opens the page of the proxy's user.
        page.goto("about:blank")
        page.goto(f"{address}/#/runs?token={lab.tokens['read']}")
        expect(page.get_by_label("ada, scope run")).to_be_visible()
        assert "token" not in page.url


_FORM = """<!doctype html><form method="post" enctype="text/plain" action="{action}"><input name='{{"shipped":"quick","x' value='":0}}'></form>
<script>document.forms[0].submit()</script>"""


def test_another_site_changes_nothing(browser: Browser, proxied: tuple[Service, str]) -> None:
    """Its form is sent with the sign-in that the browser has at the proxy."""
    lab, address = proxied

    class Evil(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(_FORM.format(action=f"{address}{ROOT}/experiments").encode())

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Evil)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    context = browser.new_context(http_credentials=ADA)
    try:
        page = context.new_page()
        page.goto(f"{address}/#/runs")
        expect(page.get_by_label("ada, scope run")).to_be_visible()
        with lab.client() as admin:
            before = admin.get(f"{ROOT}/experiments", params={"total": True, "limit": 1}).json()["total"]
            for name in ("127.0.0.1", "localhost"):
                with page.expect_response(f"{address}{ROOT}/experiments") as answer:
                    page.goto(f"http://{name}:{server.server_port}/")
                assert answer.value.status == 403
                assert answer.value.json()["what"].startswith("another site sent the request")
            after = admin.get(f"{ROOT}/experiments", params={"total": True, "limit": 1}).json()["total"]
        assert after == before
    finally:
        context.close()
        server.shutdown()
        server.server_close()
