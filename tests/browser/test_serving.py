"""Delivery of the page: security policy, caching, an absent service, prefixes of proxies."""

from __future__ import annotations

import base64
import hashlib
import re
import socket
from pathlib import Path

import httpx
from playwright.sync_api import Browser, expect

from tests.browser.proxy import below_prefix
from tests.browser.visitor import Visitor
from tests.support.service import Service, served


def test_caching_of_the_page_and_its_files(service: Service) -> None:
    with service.client(None) as client:
        index = client.get("/")
        again = client.get("/", headers={"If-None-Match": index.headers["etag"]})
        names = re.findall(r"\./(assets/[^\"]+)", index.text)
        assets = {name: client.get(f"/{name}") for name in names}
    assert "no-cache" in index.headers["cache-control"]
    assert again.status_code == 304
    assert {name.rpartition(".")[2] for name in names} >= {"js", "css", "svg"}
    for name, asset in assets.items():
        assert asset.status_code == 200, name
        assert asset.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert asset.headers["x-content-type-options"] == "nosniff"
        assert name.endswith(".svg") or asset.headers["content-encoding"] in ("zstd", "br", "gzip"), name


def test_content_security_policy_is_minimal(service: Service) -> None:
    page = httpx.get(f"{service.url}/")
    policy = page.headers["content-security-policy"]
    (first_script,) = re.findall(r"<script>(.*?)</script>", page.text, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(first_script.encode()).digest()).decode()
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split("; ")}
    assert rules == {
        "default-src": ["'none'"],
        "script-src": ["'self'", f"'sha256-{allowed}'"],
        "style-src": ["'self'"],
        "img-src": ["'self'", "data:"],
        "connect-src": ["'self'"],
        "font-src": ["'self'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
        "frame-ancestors": ["'none'"],
    }


def test_page_reports_an_absent_service_and_continues_when_it_is_back(visitor: Visitor, service: Service) -> None:
    page = visitor.logs_in("read", "runs")
    with service.away():
        # The next request notices it.
        page.get_by_label("reader, scope read").click()
        page.get_by_role("button", name="Log out").click()
        expect(page.get_by_role("status").first).to_contain_text("Service away")
    expect(page.get_by_role("status").first).to_have_text("")
    expect(page.get_by_label("reader, scope read")).to_be_visible()


def test_below_a_prefix_that_a_proxy_strips(browser: Browser, service: Service) -> None:
    with below_prefix(service.url, "/some/lab", strips=True) as at, Visitor.comes(browser, service, at=at) as visitor:
        _visit(visitor, f"{at}/some/lab")


def test_below_a_prefix_that_a_proxy_keeps(browser: Browser, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    with served(tmp_path / "home", port, LONGHAUL_URL=f"http://127.0.0.1:{port}/some/lab") as service:
        with (
            below_prefix(service.url, "/some/lab", strips=False) as at,
            Visitor.comes(browser, service, at=at) as visitor,
        ):
            _visit(visitor, f"{at}/some/lab")
        bare = httpx.get(f"{service.url}/some/lab")
        assert (bare.status_code, bare.headers["location"]) == (308, "/some/lab/")
        assert httpx.get(f"{service.url}/some/laboratory").status_code == 404


def _visit(visitor: Visitor, at: str) -> None:
    page = visitor.page
    visitor.opens("runs", at=at)
    visitor.shows_token(visitor.service.tokens["read"])
    page.get_by_role("link", name="Lab", exact=True).click()
    expect(page.get_by_role("link", name="Lab", exact=True)).to_have_attribute("aria-current", "page")
    page.reload()
    expect(page.get_by_label("reader, scope read")).to_be_visible()
    assert page.url == f"{at}/#/lab"
