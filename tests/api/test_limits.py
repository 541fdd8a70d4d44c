"""Common to all responses: rate limits, an unreachable database, HEAD, headers and the log of changes."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from longhaul.api.app import create_app
from longhaul.api.http.limits import Buckets, Limits
from longhaul.orchestrator.database.access import tokens
from longhaul.orchestrator.database.access.tokens import Access
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.work import Wanted
from tests.api.hostile import PROBLEM
from tests.support.operations import documented, ids_of, settings
from tests.support.queue import RUN, Lab, document
from tests.support.service import ROOT, Service

NEVER = ("access-control-allow-origin", "server", "x-powered-by")
ALWAYS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def monotonic(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("longhaul.api.http.limits.time", made)
    return made


def test_a_bucket_allows_its_burst_and_refills_at_its_rate(clock: Clock) -> None:
    bucket = Buckets(rate=2.0, burst=4.0)
    assert [bucket.take("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    assert (bucket.wait("a"), bucket.wait("b"), bucket.take("b")) == (0.5, 0, 0)
    clock.now_s += 0.5
    assert (bucket.wait("a"), bucket.take("a"), bucket.take("a")) == (0, 0, 0.5)
    clock.now_s += 100
    assert [bucket.take("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]


def test_buckets_of_unknown_callers_do_not_fill_the_memory(clock: Clock) -> None:
    bucket = Buckets(rate=1.0, burst=1.0)
    for number in range(30_000):
        bucket.take(str(number))
    assert len(bucket._levels) <= 10_000


def test_failed_logins_slow_only_the_address_that_made_them(clock: Clock) -> None:
    limits = Limits(200.0)
    assert [limits.of_stranger("10.0.0.1", tries=True) for _ in range(3)] == [0, 0, 0]
    for _ in range(20):
        limits.failed("10.0.0.1")
    assert limits.of_stranger("10.0.0.1", tries=True) == pytest.approx(5.0)
    assert limits.of_stranger("10.0.0.1", tries=False) == 0
    assert limits.of_stranger("10.0.0.2", tries=True) == 0
    assert limits.of_known("a valid token, from this address") == 0
    clock.now_s += 5.01
    assert limits.of_stranger("10.0.0.1", tries=True) == 0


def test_an_ipv6_network_counts_as_one_address(clock: Clock) -> None:
    limits = Limits(200.0)
    for number in range(20):
        limits.failed(f"2001:db8:0:1::{number:x}")
    assert limits.of_stranger("2001:db8:0:1:ffff::1", tries=True) > 0
    assert limits.of_stranger("2001:db8:0:2::1", tries=True) == 0


Ask = Callable[..., httpx.Response]


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[tuple[Ask, FastAPI]]:
    """Send requests from any address to a service in this process with a limit of 10 requests a second."""
    import dataclasses

    app = create_app(dataclasses.replace(settings(tmp_path), rate_limit=10))

    def one(method: str, path: str, address: str = "10.0.0.1", **more: Any) -> httpx.Response:
        async def go() -> httpx.Response:
            transport = httpx.ASGITransport(app, client=(address, 1))
            async with httpx.AsyncClient(transport=transport, base_url="http://lab") as client:
                return await client.request(method, path, **more)

        return asyncio.run(go())

    yield one, app
    app.state.lab.store.database.close()


def test_requests_above_the_rate_are_429_with_retry_after(ask: tuple[Ask, FastAPI], clock: Clock) -> None:
    one, _ = ask
    answers = [one("GET", "/healthz") for _ in range(60)]
    refused = [answer for answer in answers if answer.status_code == 429]
    assert answers[0].status_code == 200 and refused
    assert refused[0].headers["content-type"] == PROBLEM
    assert int(refused[0].headers["retry-after"]) >= 1
    assert refused[0].json()["status"] == 429 and refused[0].headers["x-request-id"]
    assert one("GET", "/healthz", address="10.0.0.2").status_code == 200
    # An invalid cookie, an invalid token or a forged address does not get a rate limit of its own.
    for more in ({"Cookie": "a=b"}, {"Authorization": "Bearer x"}, {"X-Forwarded-For": "10.9.9.9"}):
        for _ in range(3):
            answer = one("GET", "/healthz", headers=more)
        assert answer.status_code == 429


def test_guessing_is_slowed_and_a_valid_token_is_not(ask: tuple[Ask, FastAPI], clock: Clock) -> None:
    one, app = ask
    token, _ = app.state.lab.access.add_token("known", "read")
    good = {"Authorization": f"Bearer {token}"}
    assert one("GET", f"{ROOT}/runs", headers=good).status_code == 200
    made_up = "lh_0123456789ab_" + "x" * 43
    statuses = [
        one("POST", f"{ROOT}/session", json={"token": made_up}).status_code,
        *(one("GET", f"{ROOT}/runs", headers={"Authorization": f"Bearer {made_up}"}).status_code for _ in range(3)),
        one("POST", f"{ROOT}/session", json={"token": made_up}).status_code,
    ]
    assert statuses[0] == 401 and statuses[-1] == 429, statuses
    assert one("GET", f"{ROOT}/runs", headers=good).status_code == 200
    assert (
        one("GET", f"{ROOT}/runs", headers={"Authorization": f"Bearer {made_up}"}, address="10.0.0.9").status_code
        == 401
    )
    # Requests above the rate and reads without a token are not in the log of changes.
    assert {row["outcome"] for row in app.state.lab.access.audit(100)} == {401}


def test_a_locked_database_is_503_until_it_is_unlocked(ask: tuple[Ask, FastAPI]) -> None:
    one, app = ask
    app.state.lab.store.database._patience_s = 0.1
    token, _ = app.state.lab.access.add_token("known", "admin")
    good = {"Authorization": f"Bearer {token}"}
    other = sqlite3.connect(app.state.lab.store.database.file)
    other.execute("BEGIN EXCLUSIVE")
    answer = one("POST", f"{ROOT}/tokens", headers=good, json={"name": "new", "scope": "read"})
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM), answer.text
    assert answer.headers["retry-after"] == "5" and "locked" in answer.json()["detail"]
    other.rollback()
    other.close()
    assert one("POST", f"{ROOT}/tokens", headers=good, json={"name": "new", "scope": "read"}).status_code == 201


def test_a_database_locked_against_reads_is_503_until_it_is_unlocked(ask: tuple[Ask, FastAPI]) -> None:
    one, app = ask
    lab = app.state.lab
    token, _ = lab.access.add_token("known", "read")
    good = {"Authorization": f"Bearer {token}"}
    assert one("GET", f"{ROOT}/runs", headers=good).status_code == 200
    lab.store.database._patience_s = 0.1
    lab.close()
    other = sqlite3.connect(lab.store.database.file)
    other.execute("PRAGMA locking_mode=EXCLUSIVE")
    other.execute("BEGIN EXCLUSIVE")
    answer = one("GET", f"{ROOT}/runs", headers=good)
    assert (answer.status_code, answer.headers["content-type"]) == (503, PROBLEM), answer.text
    other.rollback()
    other.close()
    assert one("GET", f"{ROOT}/runs", headers=good).status_code == 200


def test_a_full_disk_is_503(ask: tuple[Ask, FastAPI], monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlalchemy import event

    one, app = ask
    token, _ = app.state.lab.access.add_token("known", "admin")
    # SQLite reports a full disk when the file reaches max_page_count, so no full disk is needed.
    event.listen(
        app.state.lab.store.database._engine, "begin", lambda c: c.exec_driver_sql("PRAGMA max_page_count = 1")
    )
    statuses = set()
    for number in range(200):
        answer = one(
            "POST", f"{ROOT}/tokens", address=f"10.1.0.{number}", headers={"Authorization": f"Bearer {token}"},
            json={"name": f"n{number}", "scope": "read"},
        )  # fmt: skip
        statuses.add(answer.status_code)
        if answer.status_code == 503:
            assert "full" in answer.json()["detail"]
            break
        app.state.door.forget()
    assert 503 in statuses


def test_an_experiment_of_reruns_has_no_report(ask: tuple[Ask, FastAPI]) -> None:
    one, app = ask
    token, _ = app.state.lab.access.add_token("known", "read")
    lab, key, run = Lab(app.state.lab.store.database), "e" * 16, "f" * 20
    lab.submit(key, [Wanted(run, RUN, {}, rerun_of="0" * 20)])
    (claim,) = lab.claim()
    assert lab.work.end(run, claim.fence, "done", document(run) | {"rerun": {"identical": True}})
    answer = one("GET", f"{ROOT}/experiments/{key}/report", headers={"Authorization": f"Bearer {token}"})
    assert (answer.status_code, answer.headers["content-type"]) == (409, PROBLEM), answer.text
    assert "none of its runs has a trace" in answer.json()["detail"]


def test_an_internal_error_is_a_problem_document_with_every_header(
    ask: tuple[Ask, FastAPI], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, _ = ask

    def broken(*_: object) -> None:
        raise ZeroDivisionError("an internal secret")

    monkeypatch.setattr(EventLog, "newest", broken)
    answer = one("GET", "/readyz")
    assert (answer.status_code, answer.headers["content-type"]) == (500, PROBLEM)
    assert "secret" not in answer.text and answer.json()["request_id"] in answer.json()["hint"]
    assert {name: answer.headers[name] for name in ALWAYS} == ALWAYS


def test_every_response_has_the_headers_and_head_is_get_without_a_body(service: Service) -> None:
    ids = ids_of(service)
    with service.client() as admin, service.client(None) as anonymous:
        for client, operation in itertools.product((admin, anonymous), documented()):
            if operation.method != "GET":
                continue
            request = operation.request(client, ids)
            answers = {}
            for method in ("GET", "HEAD"):
                request.method = method
                answer = client.send(request, stream=True)
                assert {name: answer.headers.get(name) for name in ALWAYS} == ALWAYS, operation.name
                assert not [name for name in NEVER if name in answer.headers]
                assert "content-security-policy" in answer.headers and answer.headers["x-request-id"]
                assert "cache-control" in answer.headers
                if method == "HEAD":
                    assert answer.read() == b"", operation.name
                answer.close()
                answers[method] = (answer.status_code, answer.headers.get("content-type"), answer.headers.get("etag"))
            assert answers["GET"] == answers["HEAD"], operation.name


def test_a_report_is_sandboxed_in_a_separate_origin(service: Service) -> None:
    with service.client() as client:
        policy = client.get(f"{ROOT}/experiments/{service.experiment}/report").headers["content-security-policy"]
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";") if rule.strip()}
    assert rules["default-src"] == ["'none'"] and rules["sandbox"] == ["allow-scripts"]
    assert "connect-src" not in rules and rules["form-action"] == ["'none'"]


def test_another_site_gets_no_cors_headers(service: Service) -> None:
    with service.client() as client:
        for headers in ({"Origin": "https://evil.example"}, {"Origin": "null"}):
            answer = client.get(f"{ROOT}/runs", headers=headers)
            assert not [name for name in answer.headers if name.startswith("access-control")]
            options = client.options(f"{ROOT}/experiments", headers=headers | {"Access-Control-Request-Method": "POST"})
            assert options.status_code == 405
            assert not [name for name in options.headers if name.startswith("access-control")]


def test_the_cookie_is_secure_over_https(service: Service, tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    token, _ = app.state.lab.access.add_token("page", "read")

    async def log_in(scheme: str) -> str:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=f"{scheme}://lab") as client:
            return (await client.post(f"{ROOT}/session", json={"token": token})).headers["set-cookie"].lower()

    assert "secure" in asyncio.run(log_in("https")) and "secure" not in asyncio.run(log_in("http"))
    app.state.lab.store.database.close()
    # Forwarded headers count only from a proxy that the operator named.
    with service.client(None) as client:
        answer = client.post(
            f"{ROOT}/session", json={"token": service.tokens["read"]},
            headers={"X-Forwarded-Proto": "https", "X-Forwarded-For": "10.7.7.7"},
        )  # fmt: skip
    assert "secure" not in answer.headers["set-cookie"].lower()
    assert service.lines_with(answer.headers["x-request-id"])[0]["address"] == "127.0.0.1"


def test_every_change_is_in_the_log_of_changes(service: Service) -> None:
    ids = {}
    with service.client("run") as runner, service.client() as admin, service.client(None) as stranger:
        body = {"shipped": "quick", "set": ["duration=3000 s"], "priority": -10}
        made = runner.post(f"{ROOT}/experiments", json=body)
        place = made.headers["location"]
        for method, path in (("POST", f"{place}/cancel"), ("DELETE", place), ("DELETE", f"{ROOT}/tokens/unknown")):
            ids[path] = runner.request(method, path).headers["x-request-id"]
        for plans in ("plans", "plans/preview"):
            assert runner.post(f"{ROOT}/{plans}", json={"shipped": "quick"}).status_code == 200
        runner.get(place)
        stranger.post(f"{ROOT}/experiments", json=body)
        stranger.post(f"{ROOT}/session", json={"token": "nonsense"})
        until_s = time.monotonic() + 60
        while True:
            rows = {row["request_id"]: row for row in admin.get(f"{ROOT}/audit", params={"limit": 500}).json()}
            if set(ids.values()) <= set(rows) and any(row["action"] == "log_in" for row in rows.values()):
                break
            assert time.monotonic() < until_s
    found = [rows[key] for key in (made.headers["x-request-id"], *ids.values())]
    assert [(row["actor"], row["action"], row["subject"], row["outcome"]) for row in found] == [
        ("runer", "submit_experiment", place, 201),
        ("runer", "cancel_experiment", f"{place}/cancel", 200),
        ("runer", "delete_experiment", place, 204),
        ("runer", "revoke_token", f"{ROOT}/tokens/unknown", 403),
    ]
    assert not [row for row in rows.values() if row["action"] in ("make_plan", "preview_plan")]
    # Requests without a token are not logged; failed logins are, as 401.
    assert all(row["actor"] or row["outcome"] == 401 for row in rows.values())


def test_comparing_a_token_takes_the_same_time_whether_or_not_its_id_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longhaul.orchestrator.database.connection import Database
    from longhaul.orchestrator.system.errors import AuthError

    database = Database(f"sqlite:///{tmp_path / 'record.sqlite'}")
    kept = Access(database)
    token, row = kept.add_token("known", "read")
    compared: list[tuple[int, int]] = []
    hashed: list[int] = []
    real_compare, real_digest = hmac.compare_digest, tokens._digest

    def compare(a: str, b: str) -> bool:
        compared.append((len(a), len(b)))
        return real_compare(a, b)

    def digest(secret: str) -> str:
        hashed.append(len(secret))
        return real_digest(secret)

    monkeypatch.setattr("longhaul.orchestrator.database.access.tokens.hmac.compare_digest", compare)
    monkeypatch.setattr(tokens, "_digest", digest)
    wrong = "A" * 43
    for presented in (f"lh_{row['id']}_{wrong}", f"lh_{'0' * 12}_{wrong}", token):
        compared.clear()
        hashed.clear()
        try:
            kept.caller(presented)
        except AuthError:
            assert presented != token
        assert (compared, hashed) == ([(64, 64)], [43]), presented

    def took_s(presented: str) -> float:
        begun_s = time.perf_counter()
        with pytest.raises(AuthError):
            kept.caller(presented)
        return time.perf_counter() - begun_s

    # Measured alternately, so that other load on the machine affects both; the bounds show a factor of two.
    pairs = [(took_s(f"lh_{row['id']}_{wrong}"), took_s(f"lh_{'0' * 12}_{wrong}")) for _ in range(300)]
    known, unknown = (statistics.median(times) for times in zip(*pairs, strict=True))
    assert 0.5 < known / unknown < 2.0, (known, unknown)
    database.close()
