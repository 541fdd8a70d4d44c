"""Links that share a result: they read it and nothing else, until they expire or are revoked."""

from __future__ import annotations

import json
import time
from typing import Any

import httpx
import pytest
from sqlalchemy import update

from longhaul.client import Client
from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.tables import TOKENS
from tests.support.command import longhaul
from tests.support.operations import ids_of, operations
from tests.support.service import ROOT, Service
from tests.support.waiting import wait_for

OTHER = {"shipped": "quick", "seed": 5150, "set": ["duration=2 s"]}


@pytest.fixture(scope="module")
def other(service: Service) -> dict[str, Any]:
    """A second experiment, of another user, with two runs."""
    return service.wait(service.submit(OTHER | {"repeats": 2}, "admin")["id"])


def _run(experiment: dict[str, Any], place: int = 0) -> str:
    return str(experiment["runs"][place]).rpartition("/")[2]


def _share(service: Service, scope: str = "run", **what: Any) -> dict[str, Any]:
    with service.client(scope) as client:
        answer = client.post(f"{ROOT}/shares", json=what)
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _visitor(service: Service, share: dict[str, Any]) -> httpx.Client:
    return httpx.Client(base_url=service.url, headers={"Authorization": f"Bearer {share['token']}"}, timeout=60)


def test_a_link_to_a_run_reads_the_run_alone(service: Service, other: dict[str, Any]) -> None:
    share = _share(service, runs=[service.run])
    assert share["link"] == f"{service.url}/#/runs/{service.run}?token={share['token']}"
    own = f"{ROOT}/runs/{service.run}"
    with _visitor(service, share) as visitor:
        parts = ("", "/outline", "/files", "/report", "/moments", "/series?measure=cwnd&flow=app", "/files/flows.csv")
        for part in (*parts, "/timelines?measure=cwnd", "/distributions?measure=rtt"):
            assert visitor.get(own + part).status_code == 200, part
        assert visitor.get(f"{ROOT}/session").json()["scope"] == "shared"
        refused = [
            f"/runs/{_run(other)}",
            "/runs",
            "/experiments",
            f"/experiments/{service.experiment}",
            "/audit",
            "/shares",
        ]
        for path in (*refused, f"/comparisons?a={service.run}&b={_run(other)}", "/tokens", "/queue", "/about"):
            assert visitor.get(ROOT + path).status_code == 403, path
        # Nothing is changed, and a path that only looks like the run's is another one.
        assert visitor.delete(own).status_code == 403
        assert visitor.put(f"{own}/pin").status_code == 403
        assert visitor.post(f"{own}/rerun").status_code == 403
        for path in (
            f"{own}/../{_run(other)}",
            f"{ROOT}/runs/{_run(other)}?id={service.run}",
            f"{own}%2f..%2f{_run(other)}",
        ):
            assert visitor.get(path).status_code in (403, 404), path


def test_a_link_to_an_experiment_reads_its_runs(service: Service, other: dict[str, Any]) -> None:
    with _visitor(service, _share(service, experiment_id=other["id"], days=1)) as visitor:
        for part in ("", "/summary", "/values?measure=goodput_bps&flow=app", "/report"):
            assert visitor.get(f"{ROOT}/experiments/{other['id']}{part}").status_code == 200, part
        assert len(visitor.get(f"{ROOT}/runs?experiment_id={other['id']}").json()["items"]) == 2
        for query in (
            "",
            f"?experiment_id={service.experiment}",
            f"?experiment_id={other['id']}&experiment_id={service.experiment}",
        ):
            assert visitor.get(f"{ROOT}/runs{query}").status_code == 403
        for place in range(2):
            assert visitor.get(f"{ROOT}/runs/{_run(other, place)}").status_code == 200
        assert visitor.get(f"{ROOT}/runs/{service.run}").status_code == 403
        assert visitor.post(f"{ROOT}/experiments/{other['id']}/cancel").status_code == 403


def test_a_link_to_a_comparison_compares_its_runs(service: Service, other: dict[str, Any]) -> None:
    first, second = _run(other), _run(other, 1)
    share = _share(service, runs=[first, second])
    assert share["view"] == f"compare?runs={first},{second}"
    assert share["link"].endswith(f"&token={share['token']}")
    with _visitor(service, share) as visitor:
        assert visitor.get(f"{ROOT}/comparisons?a={first}&b={second}").status_code == 200
        # The side that counts is not hidden behind another of the same name.
        twice = f"{ROOT}/comparisons?a={first}&b={second}&b={service.run}"
        assert visitor.get(twice).status_code == 403


def test_no_operation_reads_anything_else(service: Service, other: dict[str, Any]) -> None:
    """Also those that are added later: what is not listed is refused."""
    ids = ids_of(service) | {"experiments.id": other["id"], "runs.id": _run(other), "experiment_id": other["id"]}
    shown = {f"GET {ROOT}/catalogue", f"GET {ROOT}/session", f"DELETE {ROOT}/session"}
    with _visitor(service, _share(service, runs=[service.run])) as visitor:
        for one in operations():
            if one.scope is None or one.name in shown:
                continue
            answer = visitor.send(one.request(visitor, ids | {"a": other["id"], "b": other["id"]}))
            assert answer.status_code == 403, f"{one.name}: {answer.status_code}"


def test_a_revoked_or_expired_link_is_over_and_its_pages_too(service: Service) -> None:
    share = _share(service, runs=[service.run])
    with _visitor(service, share) as visitor, httpx.Client(base_url=service.url) as page:
        assert page.post(f"{ROOT}/session", json={"token": share["token"]}).status_code == 201
        assert page.get(f"{ROOT}/runs/{service.run}").status_code == 200
        with service.client("read") as reader:
            assert reader.delete(f"{ROOT}/shares/{share['id']}").status_code == 403
        with service.client("run") as owner:
            assert owner.get(f"{ROOT}/shares").json()[0]["id"] == share["id"]
            assert owner.delete(f"{ROOT}/shares/{share['id']}").json()["revoked_at"]
        assert visitor.get(f"{ROOT}/runs/{service.run}").status_code == 401
        assert page.get(f"{ROOT}/runs/{service.run}").status_code == 401
    late = _share(service, runs=[service.run])
    database = Database(f"sqlite:///{service.home / 'catalogue.sqlite'}")
    with database.write() as connection:
        connection.execute(update(TOKENS).where(TOKENS.c.id == late["id"]).values(expires_s=time.time() - 1))
    database.close()
    with _visitor(service, late) as visitor:
        assert visitor.get(f"{ROOT}/runs/{service.run}").status_code == 401


def test_shares_belong_to_their_owner(service: Service) -> None:
    of_admin = _share(service, "admin", runs=[service.run])
    with service.client("run") as client:
        assert of_admin["id"] not in {one["id"] for one in client.get(f"{ROOT}/shares").json()}
        assert client.delete(f"{ROOT}/shares/{of_admin['id']}").status_code == 403
    with service.client() as admin:
        assert of_admin["id"] in {one["id"] for one in admin.get(f"{ROOT}/shares").json()}
        # They are no tokens of users.
        names = {one["id"] for one in admin.get(f"{ROOT}/tokens").json()}
        assert of_admin["id"] not in names
        assert admin.delete(f"{ROOT}/tokens/share-{of_admin['id']}").status_code == 404


@pytest.mark.parametrize(
    ("what", "status", "part"),
    [
        ({}, 422, "either runs or an experiment"),
        ({"runs": ["5d41402abc4b2a769e07"], "experiment_id": "5d41402abc4b2a76"}, 422, "either runs"),
        ({"runs": ["5d41402abc4b2a769e07"]}, 404, "no run with this id"),
        ({"experiment_id": "5d41402abc4b2a76"}, 404, "no experiment with this id"),
        ({"runs": ["abc"]}, 422, "is not an id"),
        ({"runs": ["5d41402abc4b2a769e07"], "days": 0}, 422, "days"),
        ({"runs": ["5d41402abc4b2a769e07"], "days": 366}, 422, "days"),
    ],
)
def test_what_cannot_be_shared_is_refused(service: Service, what: dict[str, Any], status: int, part: str) -> None:
    with service.client("run") as client:
        answer = client.post(f"{ROOT}/shares", json=what)
    assert answer.status_code == status and part in answer.text, answer.text
    with service.client("read") as reader:
        assert reader.post(f"{ROOT}/shares", json=what).status_code == 403


def test_the_client_and_the_command_line_share_too(service: Service) -> None:
    with Client(service.url, service.tokens["run"]) as client:
        share = client.share(service.run, days=1)
    assert share.runs == [service.run] and share.link.endswith(share.token)
    done = longhaul("token", "share", service.experiment, "--expires", "2h", "--json", home=service.home)
    made = json.loads(done.stdout)
    with _visitor(service, made) as visitor:
        assert visitor.get(f"{ROOT}/experiments/{service.experiment}").status_code == 200
        assert visitor.get(f"{ROOT}/runs/{service.run}").status_code == 200
        assert longhaul("token", "revoke", made["id"], home=service.home).returncode == 0
        # Another process has revoked it.
        wait_for(lambda: visitor.get(f"{ROOT}/runs/{service.run}").status_code == 401)
    refused = longhaul("token", "share", "5d41402abc4b2a769e07", home=service.home)
    assert refused.returncode == 2 and "no run with this id" in refused.stderr
    # No experiment is left out in silence, and no link lasts longer than the reference says.
    refused = longhaul("token", "share", service.experiment, "5d41402abc4b2a76", home=service.home)
    assert refused.returncode == 2 and "a link shows one experiment" in refused.stderr
    refused = longhaul("token", "share", service.run, "--expires", "400d", home=service.home)
    assert refused.returncode == 2 and "at most 365 days" in refused.stderr
