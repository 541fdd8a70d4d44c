"""Settings of e-mail, webhooks and sign-in by a proxy: whole or refused, and off unless they are set."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhaul.orchestrator.database.access.tokens import SCOPES
from longhaul.orchestrator.system.access_settings import SIGN_IN_SCOPES, is_mail_address, is_within
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import load_settings

MAIL = {"HOST": "mail.example", "FROM": "longhaul@lab.example"}
PROXY = {"USER_HEADER": "X-Remote-User", "FROM": "127.0.0.1, 10.1.0.0/16"}


def _sets(monkeypatch: pytest.MonkeyPatch, base: str, values: dict[str, str]) -> None:
    for name, value in values.items():
        monkeypatch.setenv(f"LONGHAUL_{base}_{name}", value)


def test_everything_is_off_unless_it_is_set() -> None:
    settings = load_settings()
    assert (settings.mail, settings.webhook_networks, settings.proxy_sign_in) == (None, (), None)


@pytest.mark.parametrize(("tls", "port"), [("starttls", 587), ("tls", 465), ("none", 25)])
def test_the_port_is_that_of_the_encryption(monkeypatch: pytest.MonkeyPatch, tls: str, port: int) -> None:
    _sets(monkeypatch, "SMTP", MAIL | {"TLS": tls})
    mail = load_settings().mail
    assert mail is not None
    assert (mail.tls, mail.port, mail.user) == (tls, port, "")


def test_a_password_is_read_from_a_file_and_never_shown(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("correct horse\n")
    _sets(monkeypatch, "SMTP", MAIL | {"USER": "longhaul", "PASSWORD_FILE": str(tmp_path / "password")})
    settings = load_settings()
    assert settings.mail is not None
    assert settings.mail.password == "correct horse"
    assert "horse" not in repr(settings)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"FROM": "longhaul@lab.example"}, "LONGHAUL_SMTP_HOST is not set"),
        (MAIL | {"FROM": "ada"}, "not an e-mail address"),
        (MAIL | {"FROM": "a@b.example\nBcc: c@d.example"}, "not an e-mail address"),
        (MAIL | {"HOST": "mail example"}, "not a name or an address"),
        (MAIL | {"TLS": "yes"}, "give starttls, tls, none"),
        (MAIL | {"PORT": "70000"}, "give a port"),
        (MAIL | {"USER": "longhaul"}, "a user needs a password"),
        (MAIL | {"USER": "longhaul", "PASSWORD": "x", "TLS": "none"}, "sent unencrypted"),
        (MAIL | {"USER": "longhaul", "PASSWORD": "x", "PASSWORD_FILE": "y"}, "unset one of them"),
        (MAIL | {"USER": "longhaul", "PASSWORD_FILE": "/nowhere"}, "LONGHAUL_SMTP_PASSWORD_FILE names a file"),
    ],
)
def test_half_written_mail_settings_are_refused(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], says: str
) -> None:
    _sets(monkeypatch, "SMTP", values)
    with pytest.raises(PlanError, match=says):
        load_settings()


def test_mail_goes_only_to_allowed_domains(monkeypatch: pytest.MonkeyPatch) -> None:
    _sets(monkeypatch, "SMTP", MAIL | {"DOMAINS": "Lab.example,uni.example"})
    mail = load_settings().mail
    assert mail is not None
    assert [mail.allows(f"ada@{one}") for one in ("lab.example", "LAB.example", "evil-lab.example", "x.lab.example")] == [
        True, True, False, False,
    ]  # fmt: skip


@pytest.mark.parametrize(
    "address",
    ["ada", "ada@", "@lab.example", "a b@lab.example", "ada@lab.example,bob@lab.example", "ada@lab.example\r\nCc: x@y.z",
     "<ada@lab.example>", "ada@lab..example", '"a"@lab.example', "ada@lab.example ", "ä@lab.example", "ada.@lab.example", ".ada@lab.example", "ada@lab.example.", "a" * 65 + "@b.c"],
)  # fmt: skip
def test_only_one_plain_address_is_an_address(address: str) -> None:
    assert not is_mail_address(address)
    assert is_mail_address("ada.l+lab@mail.lab.example")


def test_a_proxy_is_believed_from_its_networks_and_gives_the_least_scope(monkeypatch: pytest.MonkeyPatch) -> None:
    _sets(monkeypatch, "PROXY", PROXY | {"SCOPES": "ada=admin bob=run"})
    proxy = load_settings().proxy_sign_in
    assert proxy is not None
    trusted = ("127.0.0.1", "::ffff:127.0.0.1", "10.1.2.3")
    assert all(proxy.trusts(one) for one in trusted)
    assert not any(proxy.trusts(one) for one in ("127.0.0.2", "10.2.0.1", "::1", "", "somewhere"))
    assert [proxy.scope_of(one) for one in ("ada", "bob", "eve")] == ["admin", "run", "read"]
    hash(proxy)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"USER_HEADER": "X-Remote-User"}, "LONGHAUL_PROXY_FROM: sign-in by a proxy needs both"),
        ({"FROM": "127.0.0.1"}, "LONGHAUL_PROXY_USER_HEADER: sign-in by a proxy needs both"),
        (PROXY | {"FROM": "10.1.2.3/16"}, "has host bits set"),
        (PROXY | {"FROM": "localhost"}, "give networks"),
        (PROXY | {"USER_HEADER": "Authorization"}, "not a header of a user"),
        (PROXY | {"USER_HEADER": "X Remote"}, "not a header of a user"),
        (PROXY | {"SCOPE": "root"}, "there is no scope 'root'"),
        (PROXY | {"SCOPES": "ada"}, "there is no scope ''"),
        (PROXY | {"SCOPES": "a b=run"}, "there is no scope"),
        (PROXY | {"SCOPES": "-=run"}, "give USER=SCOPE"),
    ],
)
def test_half_written_proxy_settings_are_refused(
    monkeypatch: pytest.MonkeyPatch, values: dict[str, str], says: str
) -> None:
    _sets(monkeypatch, "PROXY", values)
    with pytest.raises(PlanError, match=says):
        load_settings()


def test_the_scopes_are_those_of_tokens() -> None:
    assert SIGN_IN_SCOPES == SCOPES
    assert not is_within("fe80::1%eth0", ())
