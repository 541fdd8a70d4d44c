"""The web page, built and not built, from a service in this process and a temporary folder."""

from __future__ import annotations

import asyncio
from pathlib import Path

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


def test_a_rebuilt_page_has_another_etag(built: Path) -> None:
    first = ask(built, "/")
    (built / "index.html").write_text(INDEX + "!")
    again = ask(built, "/", **{"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.text) == (200, INDEX + "!")


@pytest.mark.parametrize("name", ["index-1.js.map", "../secret.js", "..%2fsecret.js", "none.js", ".js", "index-1.JS"])
def test_only_the_assets_of_the_page_are_served(built: Path, name: str) -> None:
    assert ask(built, f"/assets/{name}").status_code in (404, 422)
    assert ask(built, "/assets/index-1.js").status_code == 200
