"""Access: every operation of the app, with every scope and with every kind of missing or invalid token."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import httpx
import pytest
from fastapi.routing import iter_route_contexts

from longhaul.api.auth import Door
from longhaul.api.http.request_body import Reading
from longhaul.api.http.threads import look_up
from longhaul.api.lab import Lab
from longhaul.orchestrator.database.access.tokens import Caller
from longhaul.orchestrator.system.errors import AuthError
from longhaul.orchestrator.system.settings import load_settings
from tests.api.hostile import PROBLEM
from tests.support.operations import Operation, ids_of, operations, the_app
from tests.support.service import ROOT, SCOPES, Service, served

# The web page, which contains no data of the lab.
PAGE = {"GET /", "GET /assets/{name}"}
# All that is allowed without a token.
PUBLIC = PAGE | {"GET /healthz", "GET /readyz", "GET /metrics", f"GET {ROOT}/openapi.json", f"POST {ROOT}/session"}
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND")
GUARDED = [one for one in operations() if one.name not in PUBLIC]

Clients = dict[str | None, httpx.Client]


@pytest.fixture(scope="module")
def ids(service: Service) -> dict[str, str]:
    # Ids that do not exist: a caller without a token must not learn that, and a failing test changes nothing.
    return ids_of(service) | {"experiments.id": "0" * 16, "runs.id": "0" * 20, "name": "unknown"}


@pytest.fixture(scope="module")
def clients(service: Service) -> Iterator[Clients]:
    """A client of each scope, and one without a token."""
    with contextlib.ExitStack() as stack:
        yield {scope: stack.enter_context(service.client(scope)) for scope in (None, *SCOPES)}


def test_every_operation_needs_a_scope_or_is_known_to_be_public() -> None:
    assert {one.name for one in operations() if one.scope is None} == PUBLIC
    assert len(operations()) > len(PUBLIC)
    # `gate` is a right within an operation: on gated branches.
    assert {one.scope for one in GUARDED} == set(SCOPES) - {"gate"}


def test_every_operation_is_in_the_reference_and_checks_access_before_it_reads_the_body() -> None:
    assert {one.name for one in operations() if not one.openapi} == PAGE | {f"GET {ROOT}/openapi.json"}
    for route in iter_route_contexts(the_app().routes):
        if str(route.path).startswith(ROOT) and route.path != f"{ROOT}/openapi.json":
            assert isinstance(route.original_route, Reading), route.path


def test_operations_that_change_something_need_more_than_read() -> None:
    changing = {one.name for one in GUARDED if one.method != "GET" and one.scope == "read"}
    models = f"POST {ROOT}/recording-models/{{model}}"
    assert changing == {f"POST {ROOT}/plans", f"POST {ROOT}/plans/preview", models, f"DELETE {ROOT}/session"}


@pytest.mark.parametrize("operation", GUARDED, ids=lambda one: one.name)
@pytest.mark.parametrize(
    "header",
    [
        None,
        "",
        "Bearer",
        "Bearer nonsense",
        "Bearer lh_0123456789ab_" + "x" * 43,
        "Basic bG9uZ2hhdWw6bG9uZ2hhdWw=",
        "Bearer \u00ff\u00fe",
        "known with a wrong secret",
        "known without its end",
        "known twice",
        "revoked",
        "expired",
    ],
)  # fmt: skip
def test_requests_without_a_valid_token_are_401(
    operation: Operation,
    header: str | None,
    service: Service,
    clients: Clients,
    ids: dict[str, str],
    dead: dict[str, str],
) -> None:
    good = service.tokens["admin"]
    authorization = {
        "known with a wrong secret": f"Bearer {good[:-43]}{'A' * 43}",
        "known without its end": f"Bearer {good[:-1]}",
        "known twice": f"Bearer {good} {good}",
        **{name: f"Bearer {token}" for name, token in dead.items()},
    }.get(str(header), header)
    request = operation.request(clients[None], ids)
    if authorization is not None:
        request.headers["Authorization"] = authorization
    answer = clients[None].send(request)
    assert answer.status_code == 401, answer.text
    assert answer.headers["content-type"] == PROBLEM
    assert answer.headers["www-authenticate"].startswith("Bearer")
    assert good[-43:] not in answer.text


@pytest.fixture(scope="module")
def dead(service: Service) -> Iterator[dict[str, str]]:
    """Tokens that were valid once."""
    tokens = {name: service.make_token(name, "admin") for name in ("revoked", "expired")}
    with service.client() as admin:
        assert admin.delete(f"{ROOT}/tokens/revoked").status_code == 200
    database = sqlite3.connect(service.home / "catalogue.sqlite", timeout=30)
    with database:
        database.execute("UPDATE tokens SET expires_s = 1 WHERE name = 'expired'")
    database.close()
    yield tokens


def covers(scope: str, operation: Operation) -> bool:
    assert operation.scope is not None
    return SCOPES.index(scope) >= SCOPES.index(operation.scope)


# test_examples.py runs the allowed operations that change something.
@pytest.mark.parametrize(
    ("operation", "scope"),
    [(one, scope) for one in GUARDED for scope in SCOPES if one.method == "GET" or not covers(scope, one)],
    ids=lambda one: getattr(one, "name", one),
)
def test_a_scope_allows_its_operations_and_no_others(
    operation: Operation, scope: str, clients: Clients, ids: dict[str, str]
) -> None:
    answer = clients[scope].send(operation.request(clients[scope], ids))
    allowed = covers(scope, operation)
    assert (answer.status_code not in (401, 403)) if allowed else answer.status_code == 403


@pytest.mark.parametrize("path", sorted({one.path for one in operations()}))
def test_an_unsupported_method_is_405_and_lists_the_supported_ones(path: str, service: Service) -> None:
    known = {one.method for one in operations() if one.path == path}
    # GET would read a host of this name; no host can have it (orchestrator/spec/host_policy.py).
    elsewhere = {"GET"} if path == f"{ROOT}/hosts/stop" else set()
    place = path.replace("{id}", "0" * 16).replace("{name}", "x").replace("{noun}", "measures")
    with service.client() as client:
        for method in METHODS:
            if method not in known | elsewhere:
                answer = client.request(method, place)
                assert answer.status_code == 405, (method, answer.text)
                assert set(answer.headers["allow"].split(", ")) - {"HEAD"} == known
                assert answer.headers["content-type"] == PROBLEM
                assert not [name for name in answer.headers if name.startswith("access-control")]


def test_unknown_paths_are_404(service: Service) -> None:
    for place in (
        "/api",
        "/api/v1",
        "/api/v2/runs",
        "/docs",
        "/redoc",
        "/static/x",
        "/assets/x.js",
        "/assets/..%2fapi",
        "/index.html",
        "/api/v1/runs/",
    ):
        with service.client(None) as client:
            answer = client.get(place)
        assert (answer.status_code, answer.headers["content-type"]) == (404, PROBLEM), place


def test_only_its_owner_or_an_admin_ends_an_experiment(service: Service) -> None:
    token = service.make_token("owner", "run")
    with service.as_token(token) as owner, service.client("run") as stranger, service.client("admin") as admin:
        body = {"shipped": "quick", "set": ["duration=2000 s"], "priority": -10}
        mine = owner.post(f"{ROOT}/experiments", json=body).headers["location"]
        assert stranger.get(mine).status_code == 200
        assert stranger.post(f"{mine}/cancel").status_code == 403
        assert stranger.delete(mine).status_code == 403
        assert owner.delete(mine).status_code == 409
        assert owner.post(f"{mine}/cancel").json()["status"] == "cancelled"
        assert stranger.delete(mine).status_code == 403
        assert admin.delete(mine).status_code == 204
        assert owner.get(mine).status_code == 404


def test_only_its_owner_or_an_admin_pins_and_unpins_a_run(service: Service) -> None:
    token = service.make_token("pinner", "run")
    with service.as_token(token) as owner, service.client("run") as stranger, service.client("admin") as admin:
        made = owner.post(f"{ROOT}/experiments", json={"shipped": "quick", "seed": 815}).headers["location"]
        service.wait(made.rpartition("/")[2])
        (run,) = owner.get(made).json()["runs"]
        assert stranger.put(f"{run}/pin").status_code == 403
        assert not stranger.get(run).json()["pinned"]
        assert owner.put(f"{run}/pin").status_code == 204
        refused = stranger.delete(f"{run}/pin")
        assert (refused.status_code, refused.json()["what"]) == (403, "it belongs to pinner")
        assert owner.get(run).json()["pinned"]
        assert owner.delete(f"{run}/pin").status_code == 204
        assert admin.put(f"{run}/pin").status_code == 204
        assert admin.delete(f"{run}/pin").status_code == 204
        # Removing the pin of an unknown run is 404 also for other callers.
        assert stranger.delete(f"{ROOT}/runs/{'0' * 20}/pin").status_code == 404


def test_a_baseline_belongs_to_its_setter_and_a_gated_branch_needs_the_scope_gate(service: Service) -> None:
    first, second = (service.make_token(name, "run") for name in ("alice", "bob"))
    body = {"experiment_id": service.wait(service.submit({"shipped": "quick", "seed": 816})["id"])["id"]}
    side, main = f"{ROOT}/baselines/quick/feature/pacing", f"{ROOT}/baselines/quick/main"
    with (
        service.as_token(first) as alice,
        service.as_token(second) as bob,
        service.client("gate") as gate,
        service.client("admin") as admin,
    ):
        assert alice.put(side, json=body).status_code == 200
        refused = bob.put(side, json=body)
        assert (refused.status_code, refused.json()["what"]) == (403, "alice set it")
        assert alice.put(side, json=body).json()["set_by"] == "alice"
        assert gate.put(side, json=body).status_code == 403
        assert admin.put(side, json=body).status_code == 200
        for runner in (alice, bob):
            refused = runner.put(main, json=body)
            assert refused.status_code == 403
            assert "main is gated, which needs the scope gate" in refused.json()["what"]
        assert gate.put(main, json=body).json()["set_by"] == "gateer"
        assert admin.put(main, json=body).json()["branch"] == "main"
        # Any token with the scope gate may replace it: tokens are renewed under new names.
        assert gate.put(main, json=body).status_code == 200


def test_the_operator_names_the_gated_branches(tmp_path_factory: pytest.TempPathFactory) -> None:
    with served(tmp_path_factory.mktemp("gates"), LONGHAUL_GATED_BRANCHES="release, stable") as service:
        body = {"experiment_id": "0" * 16}
        with service.client("run") as runner, service.client("gate") as gate:
            for branch, status in (("main", 404), ("release", 403), ("stable", 403)):
                assert runner.put(f"{ROOT}/baselines/quick/{branch}", json=body).status_code == status
            assert gate.put(f"{ROOT}/baselines/quick/release", json=body).status_code == 404


def test_a_session_has_the_rights_of_its_token_and_needs_csrf_for_changes(service: Service) -> None:
    token = service.make_token("page", "run")
    with service.client(None) as page, service.client() as admin:
        answer = page.post(f"{ROOT}/session", json={"token": token})
        assert answer.status_code == 201
        flags = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")[1:]}
        assert {"httponly", "samesite=strict", "path=/"} <= flags
        assert token not in answer.headers["set-cookie"]
        csrf = answer.json()["csrf_token"]
        assert page.get(f"{ROOT}/runs").status_code == 200
        assert page.get(f"{ROOT}/session").json() == {
            "name": "page",
            "scope": "run",
            "csrf_token": csrf,
            "by_proxy": False,
        }
        changes = [one for one in GUARDED if one.method != "GET" and one.scope != "admin"]
        for operation in changes:
            for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}, {"X-CSRF-Token": "\u00e9"}):
                request = operation.request(page, ids_of(service) | {"experiments.id": "0" * 16})
                for name, value in headers.items():
                    request.headers[name] = value
                assert page.send(request).status_code == 403, operation.name
        assert page.get(f"{ROOT}/tokens").status_code == 403
        csrf_header = {"X-CSRF-Token": csrf}
        assert page.post(f"{ROOT}/plans", json={"shipped": "quick"}, headers=csrf_header).status_code == 200
        # An Authorization header takes precedence over the session.
        assert page.get(f"{ROOT}/runs", headers={"Authorization": "Bearer nonsense"}).status_code == 401
        kept = dict(page.cookies)
        gone = page.delete(f"{ROOT}/session", headers=csrf_header)
        assert gone.status_code == 204
        assert 'longhaul_session=""' in gone.headers["set-cookie"]
        with service.client(None, cookies=kept) as thief:
            assert thief.get(f"{ROOT}/runs").status_code == 401
        again = page.post(f"{ROOT}/session", json={"token": token})
        assert again.json()["csrf_token"] != csrf
        assert page.get(f"{ROOT}/runs").status_code == 200
        assert admin.delete(f"{ROOT}/tokens/page").status_code == 200
        assert page.get(f"{ROOT}/runs").status_code == 401


@pytest.mark.parametrize("token", ["", "nonsense", "lh_0123456789ab_" + "x" * 43])
def test_no_session_without_a_token(token: str, service: Service) -> None:
    with service.client(None) as page:
        answer = page.post(f"{ROOT}/session", json={"token": token})
        assert (answer.status_code, "set-cookie" in answer.headers) == (401, False)


def test_made_up_sessions_are_401(service: Service) -> None:
    for made_up in ("", "x", "x" * 43, "%00", "' OR 1=1 --"):
        with service.client(None, cookies={"longhaul_session": made_up}) as page:
            assert page.get(f"{ROOT}/runs").status_code == 401


@pytest.mark.parametrize("in_file", [True, False], ids=["in the event loop", "in a thread"])
def test_requests_at_once_share_one_look_up_of_their_token(
    in_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = Lab(replace(load_settings(), home=tmp_path))
    if not in_file:
        # As with a database server, whose look-ups run in threads.
        monkeypatch.setattr(type(lab.store.database), "file", None)
    token, _ = lab.access.add_token("one", "read")
    looked_up: list[str] = []

    def noted(find: Callable[[str], Caller], token: str) -> Caller:
        looked_up.append(token)
        return find(token)

    for opened in (lab, lab.at_once):
        monkeypatch.setattr(opened.access, "caller", partial(noted, opened.access.caller))

    async def ask(token: str) -> list[Caller | BaseException]:
        door = Door(partial(look_up, lab))
        asked = [asyncio.create_task(door.by_token(token)) for _ in range(20)]
        await asyncio.sleep(0)
        # The first caller gives up; the others get their answer.
        asked[0].cancel()
        return (await asyncio.gather(*asked, return_exceptions=True))[1:]

    assert {found.name for found in asyncio.run(ask(token)) if isinstance(found, Caller)} == {"one"}
    assert looked_up == [token]
    refused = asyncio.run(ask(token[:-1] + ("x" if token[-1] != "x" else "y")))
    assert len(refused) == 19 and all(isinstance(error, AuthError) for error in refused)
    assert len(looked_up) == 2
    lab.close()
