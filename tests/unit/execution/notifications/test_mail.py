"""E-mail through a real server: encrypted, after a login, to one recipient, with headers of one line."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhaul.orchestrator.database.access.deliveries import DELIVERED, FAILED, WAITING
from longhaul.orchestrator.execution.notifications import mail
from longhaul.orchestrator.system.access_settings import Mail, Tls, is_mail_address
from tests.support.receivers.mail_server import PASSWORD, USER, MailServer, mail_server

TO = "ada@uni.example"


def _mail(server: MailServer, **more: object) -> Mail:
    fields: dict[str, object] = {"tls": server.tls, "user": USER, "password": PASSWORD}
    return Mail("localhost", server.port, "longhaul@lab.example", **{**fields, **more})  # type: ignore[arg-type]


@pytest.mark.parametrize("tls", ["starttls", "tls"])
def test_a_mail_arrives_encrypted_after_a_login(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tls: Tls) -> None:
    with mail_server(tmp_path, tls=tls) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.authority))
        found = mail.send(
            _mail(server), TO, "m1", "[Longhaul] pacing: done", "µ and → and a line\n.\n.. dots\n" + "x" * 2000
        )
        assert (found.status, found.answer) == (DELIVERED, f"localhost accepted the message for {TO}")
        (one,) = server.mails
    assert (one.sender, one.to, one.encrypted, one.user) == ("longhaul@lab.example", [TO], True, USER)
    assert (one.message["Subject"], one.message["To"], one.message["Message-ID"]) == (
        "[Longhaul] pacing: done", TO, "<m1@lab.example>",
    )  # fmt: skip
    assert (one.message["From"], one.message["Auto-Submitted"]) == ("Longhaul <longhaul@lab.example>", "auto-generated")
    assert one.text.splitlines()[:3] == ["µ and → and a line", ".", ".. dots"]


def test_a_server_without_encryption_is_used_only_if_the_setting_says_so(tmp_path: Path) -> None:
    with mail_server(tmp_path, tls="none", users={}) as server:
        assert mail.send(_mail(server, user="", tls="none"), TO, "m", "s", "t").status == DELIVERED
        # Such a server offers no STARTTLS.
        found = mail.send(_mail(server, user="", tls="starttls"), TO, "m", "s", "t")
    assert (found.status, len(server.mails)) == (WAITING, 1)
    assert "STARTTLS" in found.answer


def test_an_unknown_authority_is_not_trusted(tmp_path: Path) -> None:
    with mail_server(tmp_path) as server:
        found = mail.send(_mail(server), TO, "m", "s", "t")
        assert (found.status, server.mails) == (WAITING, [])
        assert "certificate verify failed" in found.answer
    assert ssl.get_default_verify_paths().cafile != str(server.authority)


def test_refusals_for_ever_and_for_a_while_differ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with mail_server(tmp_path, refuses={"gone@uni.example"}, replies=["451 try later", "554 no"]) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.authority))
        gone = mail.send(_mail(server), "gone@uni.example", "m", "s", "t")
        assert (gone.status, gone.answer) == (FAILED, "localhost refused gone@uni.example: 550 no such user")
        for reply in ("451 try later", "554 no"):
            found = mail.send(_mail(server), TO, "m", "s", "t")
            assert (found.status, found.answer) == (WAITING, f"localhost replied: {reply}")
        wrong = mail.send(_mail(server, password="wrong"), TO, "m", "s", "t")
        assert (wrong.status, server.mails) == (WAITING, [])
        assert "535" in wrong.answer
        assert "wrong user" in wrong.answer
        outside = mail.send(_mail(server, domains=("lab.example",)), TO, "m", "s", "t")
        assert outside.status == FAILED
    away = mail.send(_mail(server), TO, "m", "s", "t")
    assert away.status == WAITING
    assert f"localhost port {server.port}" in away.answer


@pytest.mark.parametrize("subject", ["a\nBcc: eve@evil.example", "a\r\nBcc: eve@evil.example"])
def test_no_header_can_be_injected(subject: str) -> None:
    sender = Mail("localhost", 25, "longhaul@lab.example")
    with pytest.raises(ValueError, match="linefeed or carriage return"):
        mail.written(sender, TO, "m", subject, "t")
    with pytest.raises(ValueError, match=r"."):
        mail.written(sender, "ada@uni.example\r\nBcc: eve@evil.example", "m", "s", "t")


@given(st.from_regex(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,20}@[A-Za-z0-9.-]{1,20}", fullmatch=True))
def test_every_address_that_is_accepted_can_be_written(address: str) -> None:
    if is_mail_address(address):
        sender = Mail("localhost", 25, "longhaul@lab.example")
        message = mail.written(sender, address, "m", "s", "half of a character: \ud800")
        assert message["To"].addresses[0].addr_spec == address
        assert "\n" not in str(message["To"])
        message.as_bytes()
