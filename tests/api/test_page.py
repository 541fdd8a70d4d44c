"""The web page, built and not built, from a service in this process and a temporary folder."""

from __future__ import annotations

import asyncio
import gzip
from pathlib import Path

import brotli  # type: ignore[import-untyped]
import httpx
import pytest

from longhaul.api.app import create_app
from tests.support.operations import settings

INDEX = "<!doctype html><title>Longhaul</title>" + " " * 2000


def ask(built: Path, place: str, **headers: str) -> httpx.Response:
    """The response of a service whose page is in this folder."""

    async def get() -> httpx.Response:
        transport = httpx.ASGITransport(app=create_app(settings(built / "home"), built))
        async with httpx.AsyncClient(transport=transport, base_url="http://lab") as client:
            return await client.get(place, headers=headers)

    return asyncio.run(get())


@pytest.fixture
def built(tmp_path: Path) -> Path:
    (tmp_path / "assets").mkdir()
    (tmp_path / "index.html").write_text(INDEX)
    (tmp_path / "assets/index-1.js").write_text("1;" * 1000)
    (tmp_path / "assets/index-1.js.map").write_text("{}")
    (tmp_path / "secret.js").write_text("1;")
    return tmp_path


def test_a_page_that_is_not_built_is_404_with_the_command_to_run(tmp_path: Path) -> None:
    answer = ask(tmp_path, "/")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("showing the web page: it is not built")
    assert "make web" in answer.json()["hint"]


def test_a_304_has_the_content_security_policy_too(built: Path) -> None:
    # A browser replaces the headers of its cached copy by those of a 304.
    first = ask(built, "/")
    again = ask(built, "/", **{"If-None-Match": first.headers["etag"]})
    assert (first.status_code, again.status_code) == (200, 304)
    assert "script-src 'self'" in first.headers["content-security-policy"]
    assert again.headers["content-security-policy"] == first.headers["content-security-policy"]


def test_only_the_first_script_of_the_page_may_run(built: Path) -> None:
    """By its hash; a browser runs no other text, and the policy of a page without one allows none."""
    assert "sha256" not in ask(built, "/").headers["content-security-policy"]
    (built / "index.html").write_text(INDEX + "<script>let first = 1;</script>")
    # printf 'let first = 1;' | openssl dgst -sha256 -binary | base64
    allowed = "'sha256-GDNmDRAOJ2Fkuo7N7rU2hDaUbeg1WfEP70VNUjAD11Q='"
    assert f"script-src 'self' {allowed};" in ask(built, "/").headers["content-security-policy"]


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("GZIP", "gzip"),
        ("br;q=0.0,gzip;q=0.000,zstd;q=0", None),
        ("identity", None),
        ("bread", None),
    ],
)
def test_an_asset_is_sent_as_the_build_compressed_it(built: Path, accepted: str, encoding: str | None) -> None:
    content = (built / "assets/index-1.js").read_bytes()
    (built / "assets/index-1.js.br").write_bytes(brotli.compress(content))
    (built / "assets/index-1.js.gz").write_bytes(gzip.compress(content))
    answer = ask(built, "/assets/index-1.js", **{"Accept-Encoding": accepted})
    assert answer.headers.get("content-encoding") == encoding
    assert "accept-encoding" in answer.headers["vary"].lower()
    assert answer.content == content
    assert answer.headers["content-type"].startswith("text/javascript")


def test_a_rebuilt_page_has_another_etag(built: Path) -> None:
    first = ask(built, "/")
    (built / "index.html").write_text(INDEX + "!")
    again = ask(built, "/", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.text) == (200, INDEX + "!")


@pytest.mark.parametrize("name", ["index-1.js.map", "../secret.js", "..%2fsecret.js", "none.js", ".js", "index-1.JS"])
def test_only_the_assets_of_the_page_are_served(built: Path, name: str) -> None:
    assert ask(built, f"/assets/{name}").status_code in (404, 422)
    assert ask(built, "/assets/index-1.js").status_code == 200
