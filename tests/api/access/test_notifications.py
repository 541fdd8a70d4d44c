"""Notifications from a real experiment to real receivers: by webhook and e-mail, once, also after a kill, and only to users with access."""

from __future__ import annotations

import json
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from longhaul.client import Client
from tests.support.command import longhaul
from tests.support.pages import DOCS, blocks
from tests.support.receivers.mail_server import MailServer, mail_server
from tests.support.receivers.webhooks import Post, WebhookServer, receiving
from tests.support.service import ROOT, Service, served
from tests.support.waiting import wait_for

ALL = ["experiment.finished", "expectation.missed", "baseline.broken"]


@pytest.fixture(scope="module")
def post_office(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MailServer]:
    with mail_server(tmp_path_factory.mktemp("mail")) as server:
        yield server


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory, post_office: MailServer) -> Iterator[Service]:
    """A service that knows its public address, sends e-mail, and may reach webhooks on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    more = {"LONGHAUL_WEBHOOK_NETWORKS": "127.0.0.0/8", "LONGHAUL_URL": f"http://127.0.0.1:{port}"}
    with served(tmp_path_factory.mktemp("lab") / "home", port, **post_office.settings, **more) as running:
        yield running


@pytest.fixture
def hooks() -> Iterator[WebhookServer]:
    with receiving() as server:
        yield server


def _spec(name: str, rate: str = "10 Mbit/s", expect: str = "", **more: Any) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "experiment": name,
        "path": {"bandwidth": rate, "rtt": "20 ms"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "3 s",
        **more,
    }
    if expect:
        spec["expect"] = [{"measure": "goodput", "flow": "one", "at_least": expect}]
    return {"spec": spec}


def _subscribes(client: httpx.Client, target: str, events: list[str] = ALL, **more: Any) -> dict[str, Any]:
    way = "email" if "://" not in target else "webhook"
    answer = client.post(f"{ROOT}/notifications", json={"way": way, "target": target, "events": events, **more})
    assert answer.status_code == 201, answer.text
    made: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"{ROOT}/notifications/{made['id']}"
    return made


def _listed(client: httpx.Client, key: str) -> dict[str, Any]:
    answer = client.get(f"{ROOT}/notifications")
    (found,) = [one for one in answer.json()["items"] if one["id"] == key]
    return dict(found)


def _of(posts: Sequence[Post], kind: str) -> list[Post]:
    return [post for post in posts if post.message["type"] == kind]


@pytest.fixture
def ada(lab: Service) -> Iterator[httpx.Client]:
    """A user with a token of her own."""
    with lab.as_token(lab.make_token("ada", "run")) as client:
        yield client
    with lab.client() as admin:
        admin.delete(f"{ROOT}/tokens/ada")
        for one in admin.get(f"{ROOT}/notifications").json()["items"]:
            admin.delete(f"{ROOT}/notifications/{one['id']}")


def _runs(lab: Service, client: httpx.Client, asked: dict[str, Any]) -> dict[str, Any]:
    answer = client.post(f"{ROOT}/experiments", json=asked)
    assert answer.status_code == 201, answer.text
    return lab.wait(answer.json()["id"])


@pytest.mark.parametrize("everyone", [0, 1, "yes", None])
def test_everyone_is_true_or_false(ada: httpx.Client, everyone: object) -> None:
    wanted = {"way": "email", "target": "ada@uni.example", "events": ALL, "everyone": everyone}
    assert ada.post(f"{ROOT}/notifications", json=wanted).status_code == 422


def test_an_end_and_a_missed_expectation_reach_a_webhook_that_fails_first(
    lab: Service, ada: httpx.Client, hooks: WebhookServer
) -> None:
    hooks.answers = [500, 503, 200]
    made = _subscribes(ada, hooks.url)
    words = {"title": "Überlast\nSubject: x", "tags": ["night"]}
    ended = _runs(lab, ada, _spec("missing", expect="50 Mbit/s") | words)
    assert ended["status"] == "missed"
    posts = hooks.wait(4)
    assert all(post.is_signed_by(made["secret"]) for post in posts)
    # The refused message comes again under its id, with the same text; the other one follows.
    assert len({post.id for post in posts}) == 2
    for kind in ("expectation.missed", "experiment.finished"):
        same = _of(posts, kind)
        assert len({(post.id, post.body) for post in same}) == 1
        data = same[0].message["data"]
        assert data["experiment"] == {
            "id": ended["id"], "name": "missing", "owner": "ada", "status": data["experiment"]["status"],
            "title": "Überlast Subject: x", "tags": ["night"], "url": f"{lab.url}/#/experiments/{ended['id']}",
        }  # fmt: skip
        assert data["title"].startswith("Überlast Subject: x")
        (missed,) = data["missed"]
        assert missed["text"].startswith("goodput(one) at least 50 Mbit/s: 9.")
        assert missed["url"].endswith(missed["run"])
    data = _of(posts, "experiment.finished")[0].message["data"]
    assert (data["title"], data["counts"]["missed"]) == ("Überlast Subject: x: missed (1 missed of 1 run)", 1)
    wait_for(lambda: _listed(ada, made["id"])["last"]["status"] == "delivered")
    assert "secret" not in _listed(ada, made["id"])
    assert _listed(ada, made["id"])["last"]["answer"] == "200 OK thanks"


def test_a_mail_says_the_same_in_words(lab: Service, ada: httpx.Client, post_office: MailServer) -> None:
    before = len(post_office.mails)
    _subscribes(ada, "ada@uni.example", ["experiment.finished"])
    ended = _runs(lab, ada, _spec("by-mail", expect="50 Mbit/s", repeats=2))
    mail = post_office.wait(before + 1)[before]
    assert (mail.to, mail.encrypted, mail.user) == (["ada@uni.example"], True, "longhaul")
    assert mail.message["Subject"] == "[Longhaul] by-mail: missed (2 missed of 2 runs)"
    assert mail.message["Message-ID"].endswith("@lab.example>")
    for text in (
        f"{lab.url}/#/experiments/{ended['id']}",
        "goodput(one) at least 50 Mbit/s: 9.",
        "seed ",
        "runs        2: 2 missed",
    ):
        assert text in mail.text
    assert f"{lab.url}/#/lab/notifications" in mail.text


def test_a_broken_baseline_is_reported_and_an_equal_one_is_not(
    lab: Service, ada: httpx.Client, hooks: WebhookServer
) -> None:
    made = _subscribes(ada, hooks.url, ["baseline.broken"], branch="mine")
    first = _runs(lab, ada, _spec("against-base", rate="12 Mbit/s", repeats=2))
    set_baseline = ada.put(f"{ROOT}/baselines/against-base/mine", json={"experiment_id": first["id"]})
    assert set_baseline.status_code == 200
    # The same again, then a slower path.
    _runs(lab, ada, _spec("against-base", rate="12 Mbit/s", repeats=2))
    slower = _runs(lab, ada, _spec("against-base", rate="6 Mbit/s", repeats=2))
    (post,) = hooks.wait(1)
    data = post.message["data"]
    assert (post.message["type"], data["title"]) == (
        "baseline.broken",
        "against-base is worse than the baseline of mine",
    )
    assert (data["experiment"]["id"], data["baseline"]["experiment_id"]) == (slower["id"], first["id"])
    (worse,) = data["baseline"]["worse"]
    assert worse.startswith("goodput(one): worse, 11.")
    # Measures that no run has are an answer too.
    other = _subscribes(ada, hooks.url, ["baseline.broken"], branch="mine", measures=["goodput(other)"])
    _runs(lab, ada, _spec("against-base", rate="5 Mbit/s", repeats=2))
    wait_for(lambda: _listed(ada, other["id"])["last"] is not None)
    assert "goodput(other)" in _listed(ada, other["id"])["last"]["answer"]
    hooks.wait(2)
    assert made["secret"] != other["secret"]


def test_a_service_that_is_killed_sends_the_message_after_its_restart(
    lab: Service, ada: httpx.Client, hooks: WebhookServer
) -> None:
    """Killed between the event and the delivery, and again between the receiver's reply and its record."""
    made = _subscribes(ada, hooks.url, ["experiment.finished"])
    hooks.stop()
    ended = _runs(lab, ada, _spec("killed", rate="11 Mbit/s"))
    with lab.away():
        # The reply takes so long that the service is killed before it has it.
        hooks.pause_s = 30.0
        hooks.start()
        _make_due(lab.home)
    hooks.wait(1)
    with lab.away():
        hooks.pause_s = 0.0
    posts = hooks.wait(2)
    assert {post.id for post in posts} == {posts[0].id}
    assert {post.body for post in posts} == {posts[0].body}
    assert posts[0].message["data"]["experiment"]["id"] == ended["id"]
    wait_for(lambda: (_listed(ada, made["id"])["last"] or {}).get("status") == "delivered")
    time.sleep(2)
    assert len(hooks.posts) == 2


def _make_due(home: Path) -> None:
    """Skip the pause before the next attempt."""
    with sqlite3.connect(home / "catalogue.sqlite") as connection:
        connection.execute("UPDATE deliveries SET due_s = 0 WHERE status = 'waiting'")
    connection.close()


def test_a_receiver_that_is_away_delays_no_run(lab: Service, ada: httpx.Client, hooks: WebhookServer) -> None:
    hooks.pause_s = 15.0
    made = _subscribes(ada, hooks.url, ["experiment.finished"])
    _runs(lab, ada, _spec("first", rate="13 Mbit/s"))
    hooks.wait(1)
    begun_s = time.monotonic()
    _runs(lab, ada, _spec("second", rate="14 Mbit/s"))
    assert time.monotonic() - begun_s < 15
    assert _listed(ada, made["id"])["last"] is None


def test_a_user_without_a_token_gets_nothing(lab: Service, ada: httpx.Client, hooks: WebhookServer) -> None:
    made = _subscribes(ada, hooks.url, ["experiment.finished"])
    with lab.client() as admin:
        submitted = ada.post(f"{ROOT}/experiments", json=_spec("revoked", rate="15 Mbit/s")).json()["id"]
        assert admin.delete(f"{ROOT}/tokens/ada").status_code == 200
        lab.wait(submitted)
        wait_for(lambda: _listed(admin, made["id"])["last"] is not None)
        last = _listed(admin, made["id"])["last"]
    assert (last["status"], last["answer"]) == ("refused", "ada has no valid token any more")
    assert hooks.posts == []


def test_a_trial_returns_the_reply(
    lab: Service, ada: httpx.Client, hooks: WebhookServer, post_office: MailServer
) -> None:
    before = len(post_office.mails)
    hooks.reply = b"got it"
    made, mailed = _subscribes(ada, hooks.url), _subscribes(ada, "ada@uni.example")
    found = ada.post(f"{ROOT}/notifications/{made['id']}/test").json()
    assert found == {"status": "delivered", "answer": "200 OK got it"}
    (post,) = hooks.posts
    assert (post.message["type"], post.is_signed_by(made["secret"])) == ("trial", True)
    again = ada.post(f"{ROOT}/notifications/{made['id']}/test")
    assert (again.status_code, again.headers["retry-after"]) == (429, "10")
    found = ada.post(f"{ROOT}/notifications/{mailed['id']}/test").json()
    assert found == {"status": "delivered", "answer": "localhost accepted the message for ada@uni.example"}
    assert "trial" in post_office.wait(before + 1)[before].message["Subject"]
    assert _listed(ada, made["id"])["last"] | {"at": ""} == {
        "at": "", "event": "trial", "status": "delivered", "answer": "200 OK got it",
    }  # fmt: skip


def test_the_client_and_the_command_line_subscribe_too(
    lab: Service, ada: httpx.Client, hooks: WebhookServer, tmp_path: Path
) -> None:
    token = ada.headers["Authorization"].removeprefix("Bearer ")
    with Client(lab.url, token) as client:
        made = client.notify(way="webhook", target=hooks.url, events=["experiment.finished"])
        assert client.try_notification(made.id).status == "delivered"
        assert hooks.posts[0].is_signed_by(str(made.secret))
        assert [one.id for one in client.notifications()] == [made.id]
        client.delete_notification(made.id)
        assert client.notifications() == []
    where = {"LONGHAUL_SERVER": lab.url, "LONGHAUL_TOKEN": token}

    def command(*words: str) -> subprocess.CompletedProcess[str]:
        return longhaul("notification", *words, home=tmp_path, **where)

    mailed = json.loads(command("add", "--email", "ada@uni.example", "--json").stdout)
    assert (mailed["events"], mailed["secret"]) == (sorted(ALL), None)
    only = ("--on", "expectation.missed", "--name", "pacing*", "--everyone")
    shown = command("add", "--webhook", hooks.url, *only).stdout
    key, secret = shown.split()[0], shown.split()[-1]
    assert secret.startswith("whsec_")
    listed = command("list").stdout
    assert "all pacing*" in listed and "none yet" in listed and "ada@uni.example" in listed
    done = command("try", key)
    assert (done.returncode, done.stdout) == (0, "delivered: 200 OK thanks\n")
    assert hooks.posts[-1].is_signed_by(secret)
    hooks.stop()
    other = json.loads(command("add", "--webhook", hooks.url, "--json").stdout)["id"]
    done = command("try", other)
    assert done.returncode == 4 and done.stdout.startswith("not delivered: "), done
    assert command("remove", key).stdout == f"removed {key}\n"
    assert key not in command("list").stdout
    refused = command("add")
    assert refused.returncode == 2 and "give --email or --webhook" in refused.stderr
    refused = longhaul("notification", "list", home=tmp_path)
    assert refused.returncode == 2 and "notifications are kept by a service" in refused.stderr


def test_the_snippet_of_the_documentation_verifies_a_message(ada: httpx.Client, hooks: WebhookServer) -> None:
    (snippet,) = ["\n".join(one.lines) for one in blocks(DOCS / "notifications.md") if one.language == "python"]
    names: dict[str, Any] = {}
    exec(snippet, names)
    made, other = _subscribes(ada, hooks.url), _subscribes(ada, hooks.url)
    ada.post(f"{ROOT}/notifications/{made['id']}/test")
    (post,) = hooks.posts
    is_genuine = names["is_genuine"]
    assert is_genuine(post.headers, post.body, made["secret"])
    assert not is_genuine(post.headers, post.body, other["secret"])
    assert not is_genuine(post.headers, post.body.replace(b"trial", b"trail"), made["secret"])
    for header, value in (("webhook-id", "another"), ("webhook-timestamp", str(int(time.time()) - 600))):
        assert not is_genuine({**post.headers, header: value}, post.body, made["secret"])


def test_subscriptions_belong_to_their_user(lab: Service, ada: httpx.Client, hooks: WebhookServer) -> None:
    made = _subscribes(ada, hooks.url)
    with lab.client("run") as other, lab.client("read") as reader, lab.client() as admin:
        assert [one["id"] for one in other.get(f"{ROOT}/notifications").json()["items"]] == []
        for way in ("delete", "post"):
            path = f"{ROOT}/notifications/{made['id']}" + ("/test" if way == "post" else "")
            assert other.request(way, path).status_code == 403
            assert reader.request(way, path).status_code == 403
        assert reader.get(f"{ROOT}/notifications").status_code == 403
        assert _listed(admin, made["id"])["owner"] == "ada"
        assert admin.delete(f"{ROOT}/notifications/{made['id']}").status_code == 204
        assert ada.delete(f"{ROOT}/notifications/{made['id']}").status_code == 404
        # A link that shares an experiment subscribes to nothing.
        ended = _runs(lab, ada, _spec("shared", rate="16 Mbit/s"))
        share = ada.post(f"{ROOT}/shares", json={"experiment_id": ended["id"]}).json()
    with lab.as_token(share["token"]) as visitor:
        asked = {"way": "webhook", "target": hooks.url, "events": ALL, "experiment_id": ended["id"]}
        assert visitor.post(f"{ROOT}/notifications", json=asked).status_code == 403
        assert visitor.get(f"{ROOT}/notifications").status_code == 403


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"target": "http://169.254.169.254/latest"}, "never reach"),
        ({"target": "http://10.0.0.1/"}, "LONGHAUL_WEBHOOK_NETWORKS"),
        ({"target": "ftp://hooks.example.org/"}, "not an http or https URL"),
        ({"way": "email", "target": "ada"}, "not an e-mail address"),
        ({"way": "email", "target": "ada@uni.example, eve@evil.example"}, "not an e-mail address"),
        ({"measures": ["goodness"]}, "goodness is not a measure"),
        ({"events": []}, "at least 1 item"),
        ({"events": ["experiment.started"]}, "experiment.finished"),
        ({"name": "[a"}, "name"),
    ],
)
def test_what_could_not_work_is_refused(ada: httpx.Client, asked: dict[str, Any], says: str) -> None:
    whole = {"way": "webhook", "target": "https://hooks.example.org/", "events": ALL, **asked}
    answer = ada.post(f"{ROOT}/notifications", json=whole)
    assert answer.status_code == 422
    assert says in json.dumps(answer.json())


def test_without_a_mail_server_email_is_refused(tmp_path: Path) -> None:
    with served(tmp_path / "home") as plain, plain.client("run") as client:
        assert client.get(f"{ROOT}/notifications").json() == {"email": False, "items": []}
        asked = {"way": "email", "target": "ada@uni.example", "events": ALL}
        answer = client.post(f"{ROOT}/notifications", json=asked)
        assert answer.status_code == 422
        assert answer.json()["detail"] == (
            "subscribing ada@uni.example: this service sends no e-mail: LONGHAUL_SMTP_HOST is not set; "
            "ask the operator to set it, or use a webhook"
        )
