"""The addresses to which a service may connect for a webhook that a user named.

A user could otherwise let the service ask the machines of its own network for the user: a router's page, a database, the metadata of a
cloud with its credentials. Private addresses are allowed only in networks that the operator names; link-local ones, among them those of
metadata, never. The connection goes to the very address that was checked, so a name cannot resolve to another one in between.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from urllib.parse import SplitResult, urlsplit

from longhaul.orchestrator.system.access_settings import Network
from longhaul.orchestrator.system.errors import PlanError

LONGEST_URL = 500
_SETTING = "LONGHAUL_WEBHOOK_NETWORKS"
# Metadata of clouds outside the link-local networks.
_METADATA = {ipaddress.ip_address(one) for one in ("fd00:ec2::254", "100.100.100.200")}
# IPv6 addresses that a translator sends on to the IPv4 address in their last 32 bits.
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(Exception):
    """No address of the receiver may be reached; the text states why."""


def read_url(url: str, networks: Sequence[Network]) -> SplitResult:
    """The parts of a webhook's address; PlanError if it is not one, or is an address that may not be reached."""
    try:
        parts = urlsplit(url)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise PlanError("reading the webhook", url, "it is not a URL", "give https://HOST/PATH") from None
    plain = len(url) <= LONGEST_URL and url.isascii() and url.isprintable() and " " not in url and "\\" not in url
    if not plain or parts.scheme not in ("http", "https") or not host or port == 0:
        raise PlanError("reading the webhook", url, "it is not an http or https URL", "give https://HOST/PATH")
    if "@" in parts.netloc or parts.fragment:
        what = "it has a user or a fragment, which no receiver would get"
        raise PlanError("reading the webhook", url, what, "leave them out; messages are signed instead")
    try:
        literal = ipaddress.ip_address(host)
    except ValueError:
        return parts
    if why := refusal(literal, networks):
        raise PlanError("reading the webhook", url, why, f"the operator may name its network in {_SETTING}")
    return parts


def refusal(address: _Address, networks: Sequence[Network]) -> str | None:
    """Why an address may not be reached; None if it may."""
    meant = _meant(address)
    if meant.is_link_local or meant.is_unspecified or meant.is_multicast or meant in _METADATA or _is_broadcast(meant):
        return f"{address} is an address that webhooks never reach"
    if meant.is_global or any(meant in network for network in networks):
        return None
    return f"{address} is a private address, and {_SETTING} does not name its network"


def connect(host: str, port: int, networks: Sequence[Network], timeout_s: float) -> socket.socket:
    """A connection to the first allowed address of a host; AddressRefused, OSError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(place[4][0]) for place in found))
    reasons = {one: refusal(ipaddress.ip_address(one.partition("%")[0]), networks) for one in addresses}
    allowed = [one for one in addresses if reasons[one] is None]
    if not allowed:
        raise AddressRefused("; ".join(reason for reason in reasons.values() if reason))
    last = OSError("no address")
    for one in allowed:
        try:
            return socket.create_connection((one, port), timeout_s)
        except OSError as error:
            last = error
    raise last


def _meant(address: _Address) -> _Address:
    """The address that packets reach in the end: an IPv4 address may be written within an IPv6 address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _TRANSLATED:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address


def _is_broadcast(address: _Address) -> bool:
    return address == ipaddress.IPv4Address("255.255.255.255")
