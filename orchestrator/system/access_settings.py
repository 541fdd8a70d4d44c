"""Settings of how a service reaches its users, and they it: e-mail, webhooks, and sign-in by a reverse proxy.

Each is read from the environment that settings.py passes. A half-written one is refused: a service that seems to be set up, and is not, is
noticed when its first message is missing.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, cast

from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Tls = Literal["starttls", "tls", "none"]

# The port that servers have for each kind of encryption.
_PORTS: Mapping[str, int] = {"starttls": 587, "tls": 465, "none": 25}
# The scopes of tokens (database/access/tokens.py); a test compares them.
SIGN_IN_SCOPES = ("read", "run", "gate", "admin")
# An address as servers of today accept it without quotes; no space, comma, quote or bracket, so it is one address and one header.
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?")
_HEADER = re.compile(r"[A-Za-z0-9-]{1,64}")
USER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


@dataclass(frozen=True, slots=True)
class Mail:
    """The server that sends e-mail, and the sender; without domains, any recipient is allowed."""

    host: str
    port: int
    sender: str
    tls: Tls = "starttls"
    user: str = ""
    password: str = field(default="", repr=False)
    domains: tuple[str, ...] = ()

    def allows(self, address: str) -> bool:
        """Whether mail may go to this address."""
        return not self.domains or address.rpartition("@")[2].lower() in self.domains


@dataclass(frozen=True, slots=True)
class ProxySignIn:
    """The header in which a reverse proxy names the user, the networks from which it is believed, and the scopes of such users."""

    header: str
    networks: tuple[Network, ...]
    scope: str = "read"
    scopes: tuple[tuple[str, str], ...] = ()

    def trusts(self, address: str) -> bool:
        """Whether the header is believed in a request from this address."""
        return is_within(address, self.networks)

    @property
    def danger(self) -> str:
        """What the operator has to know of it, in one sentence."""
        networks = ", ".join(str(network) for network in self.networks)
        return (
            f"sign-in by a proxy is on: every program and person that can send requests from {networks} can be any user, "
            f"by the header {self.header} (docs/service.md)"
        )

    def scope_of(self, user: str) -> str:
        """The scope of a user."""
        return dict(self.scopes).get(user, self.scope)


def is_mail_address(written: str) -> bool:
    """Whether this is one e-mail address, without a name or a comment."""
    local, _, domain = written.rpartition("@")
    dotted = [*local.split("."), *domain.split(".")]
    return len(written) <= 254 and _ADDRESS.fullmatch(written) is not None and all(dotted)


def is_within(address: str, networks: tuple[Network, ...]) -> bool:
    """Whether an address is in one of the networks; an IPv4 address may be written as IPv6."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        parsed = parsed.ipv4_mapped
    return any(parsed in network for network in networks)


def read_mail(environment: Mapping[str, str]) -> Mail | None:
    """The mail server, if one is named."""
    base = "LONGHAUL_SMTP"
    host = environment.get(f"{base}_HOST", "").strip()
    if not host:
        if left := next((name for name in environment if name.startswith(f"{base}_") and environment[name]), None):
            raise PlanError("reading setting", left, f"{base}_HOST is not set", f"set {base}_HOST too, or unset {left}")
        return None
    if not re.fullmatch(r"[A-Za-z0-9:._-]{1,255}", host):
        raise PlanError("reading setting", f"{base}_HOST", "it is not a name or an address", "give mail.example")
    tls = environment.get(f"{base}_TLS") or "starttls"
    if tls not in _PORTS:
        raise PlanError("reading setting", f"{base}_TLS", f"read {tls!r}", f"give {', '.join(_PORTS)}")
    port = environment.get(f"{base}_PORT") or str(_PORTS[tls])
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise PlanError("reading setting", f"{base}_PORT", f"read {port!r}", "give a port from 1 to 65535")
    sender = environment.get(f"{base}_FROM", "").strip()
    if not is_mail_address(sender):
        raise PlanError("reading setting", f"{base}_FROM", "it is not an e-mail address", "give longhaul@lab.example")
    user, password = environment.get(f"{base}_USER", ""), _password(environment, base)
    if bool(user) != bool(password):
        raise PlanError("reading setting", f"{base}_USER", "a user needs a password, and a password a user", "set both")
    if user and tls == "none":
        what = "the password would be sent unencrypted"
        raise PlanError("reading setting", f"{base}_TLS", what, f"set it to starttls or tls, or unset {base}_USER")
    domains = tuple(environment.get(f"{base}_DOMAINS", "").lower().replace(",", " ").split())
    return Mail(host, int(port), sender, cast("Tls", tls), user, password, domains)


def _password(environment: Mapping[str, str], base: str) -> str:
    direct, named = environment.get(f"{base}_PASSWORD", ""), environment.get(f"{base}_PASSWORD_FILE", "")
    if direct and named:
        raise PlanError("reading setting", f"{base}_PASSWORD_FILE", f"{base}_PASSWORD is set too", "unset one of them")
    if not named:
        return direct
    try:
        return Path(named).read_text().removesuffix("\n")
    except (OSError, UnicodeDecodeError) as error:
        what = getattr(error, "strerror", None) or "it is not text"
        raise PlanError("reading", named, what, f"{base}_PASSWORD_FILE names a file with the password") from error


def read_networks(environment: Mapping[str, str], name: str) -> tuple[Network, ...]:
    """The networks and addresses that a setting lists."""
    found = []
    for written in environment.get(name, "").replace(",", " ").split():
        try:
            found.append(ipaddress.ip_network(written))
        except ValueError as error:
            raise PlanError("reading setting", name, f"{error}", "give networks, as in 10.1.0.0/16 ::1") from None
    return tuple(found)


def read_proxy_sign_in(environment: Mapping[str, str]) -> ProxySignIn | None:
    """Sign-in by a proxy, if both the header and the proxy's addresses are named."""
    base = "LONGHAUL_PROXY"
    header, networks = environment.get(f"{base}_USER_HEADER", ""), read_networks(environment, f"{base}_FROM")
    if not header and not networks:
        return None
    if not header or not networks:
        lacking = f"{base}_FROM" if header else f"{base}_USER_HEADER"
        what = "sign-in by a proxy needs both the header and the addresses from which it is believed"
        raise PlanError("reading setting", lacking, what, "set both, or neither")
    if not _HEADER.fullmatch(header) or header.lower() in ("authorization", "cookie", "host", "origin"):
        raise PlanError("reading setting", f"{base}_USER_HEADER", "it is not a header of a user", "give X-Remote-User")
    scopes: dict[str, str] = {}
    for pair in environment.get(f"{base}_SCOPES", "").replace(",", " ").split():
        user, _, scope = pair.partition("=")
        if not USER_NAME.fullmatch(user):
            raise PlanError("reading setting", f"{base}_SCOPES", f"read {pair!r}", "give USER=SCOPE, as in ada=admin")
        scopes[user] = _scope(scope, f"{base}_SCOPES")
    scope = _scope(environment.get(f"{base}_SCOPE") or SIGN_IN_SCOPES[0], f"{base}_SCOPE")
    return ProxySignIn(header, networks, scope, tuple(scopes.items()))


def _scope(written: str, name: str) -> str:
    if written not in SIGN_IN_SCOPES:
        known = ", ".join(SIGN_IN_SCOPES)
        raise PlanError("reading setting", name, f"there is no scope {written!r}", f"known: {known}")
    return written
