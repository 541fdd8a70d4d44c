"""Sign-in by a reverse proxy: only its requests name users, and no other site can use a user's sign-in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.proxy import USER_HEADER, below_prefix
from tests.support.command import longhaul
from tests.support.receivers.webhooks import receiving
from tests.support.service import ROOT, Service, served
from tests.support.waiting import wait_for

USERS = {"ada": "engine", "bob": "builder", "grace": "hopper"}
SETTINGS = {
    "LONGHAUL_PROXY_USER_HEADER": USER_HEADER,
    "LONGHAUL_PROXY_FROM": "127.0.0.2",
    "LONGHAUL_PROXY_SCOPES": "ada=run grace=admin",
    # This machine may state where its requests came from, and is not believed about users.
    "LONGHAUL_TRUSTED_PROXY": "127.0.0.1",
    "LONGHAUL_WEBHOOK_NETWORKS": "127.0.0.0/8",
}
SMALL: dict[str, Any] = {"shipped": "quick", "set": ["duration=2 s"]}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with served(tmp_path_factory.mktemp("lab") / "home", 0, **SETTINGS) as running:
        yield running


def _from(address: str, lab: Service, **headers: str) -> httpx.Client:
    """A client that sends from this address of the machine."""
    transport = httpx.HTTPTransport(local_address=address)
    return httpx.Client(base_url=lab.url, transport=transport, headers=headers, timeout=60)


def _as(user: str, lab: Service, **headers: str) -> httpx.Client:
    return _from("127.0.0.2", lab, **{USER_HEADER: user}, **headers)


def _csrf(client: httpx.Client) -> dict[str, str]:
    return {"X-CSRF-Token": client.get(f"{ROOT}/session").json()["csrf_token"]}


def test_the_proxy_names_the_user(lab: Service) -> None:
    for user, scope in (("ada", "run"), ("bob", "read"), ("grace", "admin")):
        with _as(user, lab) as client:
            found = client.get(f"{ROOT}/session").json()
            assert (found["name"], found["scope"], found["by_proxy"]) == (user, scope, True)
            assert client.get(f"{ROOT}/tokens").status_code == (200 if scope == "admin" else 403)
    with _as("ada", lab) as client:
        made = client.post(f"{ROOT}/experiments", json=SMALL, headers=_csrf(client))
        assert (made.status_code, made.json()["owner"]) == (201, "ada")
        lab.wait(made.json()["id"])
    with _as("bob", lab) as client:
        assert client.post(f"{ROOT}/experiments", json=SMALL, headers=_csrf(client)).status_code == 403
    with lab.client() as admin:
        # A request is recorded once it has been answered.
        wait_for(lambda: {row["actor"] for row in admin.get(f"{ROOT}/audit").json()} >= {"ada", "bob"}, 20)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Forwarded-For": "127.0.0.2"},
        {"X-Forwarded-For": "127.0.0.2, 127.0.0.2", "X-Real-IP": "127.0.0.2"},
        {"Forwarded": "for=127.0.0.2"},
    ],
)
def test_another_address_does_not(lab: Service, headers: dict[str, str]) -> None:
    with _from("127.0.0.1", lab, **{USER_HEADER: "grace"}, **headers) as client:
        assert client.get(f"{ROOT}/session").status_code == 401
        assert client.get(f"{ROOT}/tokens").status_code == 401


def test_without_both_settings_the_header_is_nothing(tmp_path: Path) -> None:
    with served(tmp_path / "home") as plain, _from("127.0.0.1", plain, **{USER_HEADER: "grace"}) as client:
        assert client.get(f"{ROOT}/session").status_code == 401


@pytest.mark.parametrize("user", ["", "a b", "ada, grace", "../ada", "0123456789ab", "x" * 65, "Ada Lovelace <ada@x>"])
def test_a_name_that_is_none_is_refused(lab: Service, user: str) -> None:
    with _as(user, lab) as client:
        answer = client.get(f"{ROOT}/session")
    assert answer.status_code == 401
    assert USER_HEADER in answer.json()["what"]


def test_a_header_that_is_there_twice_is_refused(lab: Service) -> None:
    """A client's own, which a careless proxy passes on before it adds its own."""
    with _from("127.0.0.2", lab) as client:
        for both in (["ada", "grace"], ["grace", "grace"]):
            answer = client.get(f"{ROOT}/session", headers=[(USER_HEADER, one) for one in both])
            assert answer.status_code == 401


@pytest.mark.parametrize(
    ("host", "status"), [("evil.example", 401), ("evil.example:8080", 401), ("longhaul", 200), ("[::1]:80", 200)]
)
def test_a_name_of_another_site_is_not_this_service(lab: Service, host: str, status: int) -> None:
    """A page of that site, whose name resolves to the service, could add the header."""
    with _as("grace", lab, Host=host) as client:
        answer = client.get(f"{ROOT}/session")
    assert answer.status_code == status
    assert status == 200 or "LONGHAUL_URL" in answer.json()["hint"]


@pytest.mark.parametrize(
    ("headers", "allowed"),
    [
        ({"Sec-Fetch-Site": "same-origin"}, True),
        ({"Sec-Fetch-Site": "same-origin", "Origin": "https://evil.example"}, True),
        ({"Origin": "OWN"}, True),
        ({}, True),
        ({"Sec-Fetch-Site": "cross-site"}, False),
        ({"Sec-Fetch-Site": "same-site"}, False),
        ({"Sec-Fetch-Site": "none"}, False),
        ({"Sec-Fetch-Site": "cross-site", "Origin": "OWN"}, False),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Origin": ""}, False),
    ],
)
def test_a_change_comes_from_the_same_origin(lab: Service, headers: Mapping[str, str], allowed: bool) -> None:
    sent = {name: lab.url if value == "OWN" else value for name, value in headers.items()}
    with _as("ada", lab) as client:
        csrf = _csrf(client)
        for more, right in ((csrf, True), ({}, False), ({"X-CSRF-Token": "0" * 64}, False)):
            answer = client.post(f"{ROOT}/shares", json={"runs": []}, headers={**sent, **more})
            # The body is refused, after the caller was accepted.
            assert answer.status_code == (422 if allowed and right else 403), (sent, more, answer.text)
        # Reading changes nothing.
        assert client.get(f"{ROOT}/shares", headers=sent).status_code == 200


def test_tokens_work_beside_it(lab: Service) -> None:
    with _as("bob", lab, Authorization=f"Bearer {lab.tokens['admin']}") as client:
        found = client.get(f"{ROOT}/session").json()
        assert (found["name"], found["by_proxy"]) == ("first", False)
        assert client.post(f"{ROOT}/shares", json={"runs": []}).status_code == 422
    with _as("grace", lab, Authorization="Bearer lh_0123456789ab_" + "x" * 43) as client:
        assert client.get(f"{ROOT}/session").status_code == 401
    # The password with which the proxy authenticated the user.
    with _as("bob", lab, Authorization="Basic Ym9iOmJ1aWxkZXI=") as client:
        assert client.get(f"{ROOT}/session").json()["name"] == "bob"
        # It names the user of this page already, and a cookie would change nothing.
        refused = client.post(f"{ROOT}/session", json={"token": lab.tokens["admin"]})
        assert (refused.status_code, refused.cookies) == (409, httpx.Cookies())
    # The cookie of another user that is left in the browser.
    with httpx.Client(base_url=lab.url) as page:
        assert page.post(f"{ROOT}/session", json={"token": lab.tokens["admin"]}).status_code == 201
        cookie = page.cookies["longhaul_session"]
        assert page.get(f"{ROOT}/session").json()["name"] == "first"
    with _as("bob", lab, Cookie=f"longhaul_session={cookie}") as client:
        assert client.get(f"{ROOT}/session").json()["name"] == "bob"


def test_a_link_and_streams_work_through_it(lab: Service) -> None:
    with _as("ada", lab) as client:
        made = client.post(f"{ROOT}/experiments", json=SMALL, headers=_csrf(client)).json()
        lab.wait(made["id"])
        with client.stream("GET", f"{ROOT}/experiments/{made['id']}/events") as events:
            assert "experiment.finished" in events.read().decode()


def test_users_of_the_proxy_are_notified_while_it_is_trusted(tmp_path: Path) -> None:
    with receiving() as hooks, served(tmp_path / "home", 0, **SETTINGS) as lab:
        with _as("ada", lab) as client:
            asked = {"way": "webhook", "target": hooks.url, "events": ["experiment.finished"], "everyone": True}
            made = client.post(f"{ROOT}/notifications", json=asked, headers=_csrf(client))
            assert made.status_code == 201
            client.post(f"{ROOT}/experiments", json=SMALL, headers=_csrf(client))
        assert hooks.wait(1)[0].message["data"]["experiment"]["owner"] == "ada"
        # The same lab without the proxy: ada has no token.
        lab.stop()
        lab.settings = {"LONGHAUL_WEBHOOK_NETWORKS": "127.0.0.0/8"}
        lab.start()
        with lab.client() as admin:
            admin.post(f"{ROOT}/experiments", json={**SMALL, "seed": 7})

            def last() -> str:
                (found,) = admin.get(f"{ROOT}/notifications").json()["items"]
                return str(found["last"]["status"])

            wait_for(lambda: last() == "refused")
        assert len(hooks.posts) == 1


def test_a_real_proxy_authenticates(tmp_path: Path) -> None:
    settings = {**SETTINGS, "LONGHAUL_PROXY_FROM": "127.0.0.1"}
    with (
        served(tmp_path / "home", 0, **settings) as lab,
        below_prefix(lab.url, "/lab", strips=True, users=USERS) as proxy,
    ):
        assert httpx.get(f"{proxy}/lab{ROOT}/session").status_code == 401
        assert httpx.get(f"{proxy}/lab{ROOT}/session", auth=("ada", "wrong")).status_code == 401
        with httpx.Client(base_url=f"{proxy}/lab", auth=("ada", "engine"), headers={USER_HEADER: "grace"}) as client:
            # The client's own header is dropped.
            assert client.get(f"{ROOT}/session").json()["name"] == "ada"
            made = client.post(f"{ROOT}/experiments", json=SMALL, headers=_csrf(client))
            assert made.status_code == 201, made.text
            lab.wait(made.json()["id"])


def test_the_danger_is_stated_at_the_start_and_by_doctor(tmp_path: Path) -> None:
    lines: list[str] = []

    class Listening(Service):
        def start(self) -> None:
            super().start()
            assert self._process is not None and self._process.stdout is not None
            lines.extend(self._process.stdout.readline() for _ in range(2))

    service = Listening(tmp_path / "home", SETTINGS)
    service.start()
    service.stop()
    says = f"can send requests from 127.0.0.2/32 can be any user, by the header {USER_HEADER}"
    assert any(line.startswith("danger: ") and says in line for line in lines), lines
    done = longhaul("doctor", "--need", "service", home=tmp_path / "home", **SETTINGS)
    assert says in done.stdout
    plain = longhaul("doctor", "--need", "service", home=tmp_path / "home")
    assert "sign-in by a proxy" not in plain.stdout
    half = longhaul("doctor", home=tmp_path / "home", LONGHAUL_PROXY_USER_HEADER=USER_HEADER)
    assert half.returncode == 2 and "needs both" in half.stderr
