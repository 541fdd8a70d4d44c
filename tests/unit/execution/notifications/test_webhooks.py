"""A webhook is signed as Standard Webhooks says, reaches only allowed addresses, and ends in time."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from longhaul.orchestrator.database.access.deliveries import DELIVERED, FAILED, WAITING
from longhaul.orchestrator.execution.notifications import addresses, webhook
from longhaul.orchestrator.system.errors import PlanError
from tests.support.receivers.webhooks import WebhookServer, receiving

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"),)
SECRET = "C2FVsBQIhrscChlQIMV+b5sSYspob7oD"


@pytest.fixture
def server() -> Iterator[WebhookServer]:
    with receiving() as one:
        yield one


def test_the_signature_is_that_of_the_specification() -> None:
    # Of the example in the libraries of Standard Webhooks.
    found = webhook.signature(
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}'
    )
    assert found == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_message_arrives_signed(server: WebhookServer) -> None:
    found = webhook.post(server.url, SECRET, "m1", b'{"type":"x"}', LOOPBACK)
    assert (found.status, found.answer) == (DELIVERED, "200 OK thanks")
    (post,) = server.posts
    assert (post.path, post.id, post.message) == ("/hook?lab=1", "m1", {"type": "x"})
    assert abs(int(post.headers["webhook-timestamp"]) - time.time()) < 60
    assert post.is_signed_by(f"whsec_{SECRET}")
    assert not post.is_signed_by("whsec_AAAA")
    post.body += b" "
    assert not post.is_signed_by(f"whsec_{SECRET}")


@pytest.mark.parametrize(
    ("status", "outcome"), [(204, DELIVERED), (400, WAITING), (429, WAITING), (500, WAITING), (410, FAILED)]
)
def test_the_outcome_follows_from_the_status(server: WebhookServer, status: int, outcome: str) -> None:
    server.answers = [status]
    assert webhook.post(server.url, SECRET, "m", b"{}", LOOPBACK).status == outcome


def test_a_redirect_is_not_followed(server: WebhookServer) -> None:
    server.answers = [302]
    found = webhook.post(server.url, SECRET, "m", b"{}", LOOPBACK)
    assert (found.status, len(server.posts)) == (WAITING, 1)
    assert "redirects are not followed" in found.answer


def test_a_reply_is_shortened_and_shows_no_control_characters(server: WebhookServer) -> None:
    server.reply = b"\x1b[31m" + b"x" * 100_000
    answer = webhook.post(server.url, SECRET, "m", b"{}", LOOPBACK).answer
    assert answer.startswith("200 OK \\x1b[31mxxx")
    assert len(answer) == 300


def test_nothing_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    found = webhook.post(f"http://127.0.0.1:{port}/", SECRET, "m", b"{}", LOOPBACK)
    assert found.status == WAITING
    assert "did not reply" in found.answer


def _drips(bytes_of_reply: bytes) -> tuple[str, socket.socket]:
    """A receiver that sends one byte in a while, for as long as the connection lasts."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            try:
                while True:
                    connection.sendall(bytes_of_reply)
                    time.sleep(0.1)
            except OSError:
                pass

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{listening.getsockname()[1]}", listening


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_an_attempt_has_a_limit_of_time(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setattr(webhook, "_LONGEST_S", 1.0)
    # A record of TLS, or a header, that never ends.
    place, listening = _drips(b"\x16" if scheme == "https" else b"x")
    with listening:
        begun_s = time.monotonic()
        found = webhook.post(f"{scheme}://{place}/", SECRET, "m", b"{}", LOOPBACK)
    assert found.status == WAITING
    assert time.monotonic() - begun_s < 8


ALWAYS_REFUSED = ("169.254.169.254", "fe80::1", "0.0.0.0", "::", "224.0.0.1", "ff02::1", "255.255.255.255", "fd00:ec2::254",
                  "100.100.100.200", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1")  # fmt: skip
PRIVATE = ("10.0.0.1", "172.16.0.1", "192.168.1.1", "127.0.0.1", "::1", "fc00::1", "::ffff:10.0.0.1", "100.64.0.1",
           "64:ff9b::a00:1", "2002:a00:1::1", "192.0.2.1", "240.0.0.1")  # fmt: skip


@pytest.mark.parametrize("address", ALWAYS_REFUSED)
def test_link_local_and_metadata_addresses_are_never_reached(address: str) -> None:
    everything = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))
    assert addresses.refusal(ipaddress.ip_address(address), everything) is not None


@pytest.mark.parametrize("address", PRIVATE)
def test_private_addresses_are_reached_only_where_the_operator_says(address: str) -> None:
    parsed = ipaddress.ip_address(address)
    why = addresses.refusal(parsed, ())
    assert why is not None
    assert "LONGHAUL_WEBHOOK_NETWORKS" in why
    assert addresses.refusal(parsed, (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))) is None
    assert addresses.refusal(parsed, (ipaddress.ip_network("198.51.100.0/24"),)) is not None


@pytest.mark.parametrize("address", ["93.184.215.14", "2606:4700::1111", "64:ff9b::5db8:d70e"])
def test_public_addresses_are_reached(address: str) -> None:
    assert addresses.refusal(ipaddress.ip_address(address), ()) is None


def test_a_name_is_checked_by_its_address(server: WebhookServer) -> None:
    """Also of a name that resolved to another address when the subscription was made."""
    url = f"http://localhost:{server.port}/"
    found = webhook.post(url, SECRET, "m", b"{}", ())
    assert (found.status, server.posts) == (FAILED, [])
    assert "private address" in found.answer
    # Its IPv6 address is left out, and the other one is reached.
    assert webhook.post(url, SECRET, "m", b"{}", LOOPBACK).status == DELIVERED


@pytest.mark.parametrize(
    "url",
    ["ftp://a.example/", "file:///etc/passwd", "https://", "https:///x", "a.example", "https://user:pw@a.example/", "https://a.example/#x",
     "https://a.example:0/", "https://a.example:99999/", "https://a.example/\r\nX: y", "https://a.exämple/", "https://a.example\\@b/",
     "http://127.0.0.1/", "http://[::1]/", "http://169.254.169.254/latest", "https://[::ffff:7f00:1]/", "https://a.example/" + "x" * 500],
)  # fmt: skip
def test_an_address_that_could_never_work_is_refused_at_once(url: str) -> None:
    with pytest.raises(PlanError):
        addresses.read_url(url, ())
    addresses.read_url("https://hooks.a.example:8443/a/b?c=d", ())
