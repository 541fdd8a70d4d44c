"""Errors sent to callers contain no path of this machine and no address of the database; the log contains them."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
from pathlib import Path

import httpx
import pytest

from longhaul.api.app import create_app
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.system.errors import PlanError
from tests.api.hostile import BASE
from tests.support.operations import settings
from tests.support.service import ROOT

_PORT = 1


def ask(app: object, *requests: tuple[str, str, dict[str, object] | None], token: str = "") -> list[httpx.Response]:
    """The responses of a service in this process."""

    async def go() -> list[httpx.Response]:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://lab", headers=headers) as client:
            return [await client.request(method, path, json=body) for method, path, body in requests]

    return asyncio.run(go())


def test_the_address_of_a_database_server_is_not_sent(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    url = f"postgresql://lh:secret@127.0.0.1:{_PORT}/longhaul"
    app = create_app(dataclasses.replace(settings(tmp_path), database=url))
    with caplog.at_level(logging.ERROR):
        (answer,) = ask(app, ("GET", "/readyz", None))
    assert answer.status_code == 503 and answer.headers["retry-after"] == "5"
    assert answer.json()["subject"] == "the database"
    for word in ("127.0.0.1", "postgresql", "psycopg", "lh@", "secret", str(_PORT) + "/", f"port {_PORT}"):
        assert word not in answer.text, answer.text
    assert "127.0.0.1" in caplog.text and "secret" not in caplog.text

    # Streams of events use another path for the error.
    error = None
    try:
        EventLog(app.state.lab.store.database).newest()
    except Exception as raised:
        error = raised
    assert "127.0.0.1" not in app.state.hub.tell(error) and "the database" in app.state.hub.tell(error)


def test_folders_are_named_by_their_purpose(tmp_path: Path) -> None:
    home = tmp_path / "a" / "home"
    app = create_app(dataclasses.replace(settings(home), hosts_file=home / "hosts.yml"))
    token, _ = app.state.lab.access.add_token("runner", "run")
    (home / "hosts.yml").write_text("nonsense: 1\n")
    answers = ask(
        app,
        ("POST", f"{ROOT}/plans", {"shipped": "quick", "set": ["path.rtt=nonsense"]}),
        ("POST", f"{ROOT}/plans", {"shipped": "quick", "set": ["topology=nothing"]}),
        ("POST", f"{ROOT}/plans", {"spec": BASE | {"topology": "nothing"}}),
        ("POST", f"{ROOT}/experiments", {"spec": BASE}),
        ("GET", f"{ROOT}/hosts", None),
        token=token,
    )
    app.state.lab.close()
    assert [answer.status_code for answer in answers[:4]] == [422, 422, 422, 503]
    for answer in answers:
        for word in (str(tmp_path), "/orchestrator/", ".yaml", "lab.py"):
            assert word not in answer.text, answer.text
    assert answers[0].json()["detail"].startswith("quick: path.rtt (line ")


def test_the_innermost_folder_is_replaced_and_other_text_is_unchanged(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    text = app.state.outward.text
    assert text(f"reading {tmp_path}/cache/kernels: no") == "reading LONGHAUL_CACHE/kernels: no"
    assert text(f"{tmp_path}/runs, {tmp_path}") == "LONGHAUL_HOME/runs, LONGHAUL_HOME"
    assert text("GET /api/v1/runs: 10/20 of a/b") == "GET /api/v1/runs: 10/20 of a/b"
    assert isinstance(app.state.outward.error(PlanError("a", "b", "c")), PlanError)
    app.state.lab.close()
