"""Sign-in by a reverse proxy, which authenticates users and names each in a header; off unless the operator sets it up.

The header is believed in requests from the proxy's addresses only, by the connection itself: forwarded headers do not change who sent a
request. Every program that can send requests from these addresses can be any user, which the service says at its start.

    from another address     as without the header
    named twice, or not in the form of a name, or with a Host of another site     refused: a page that lets its own name resolve to
                             the service's address (DNS rebinding) cannot add the header
    a change                 also needs the header X-CSRF-Token, which other sites cannot send, and comes from the same origin: the
                             proxy authenticates whatever the browser sends, also for another site
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from longhaul.orchestrator.database.access.tokens import ID, Caller
from longhaul.orchestrator.system.access_settings import USER_NAME, ProxySignIn
from longhaul.orchestrator.system.errors import AuthError, NotAllowed

# The key of a request's scope with the address of the connection (http/protocol.py).
PEER = "longhaul.peer"
_SIGNING_IN = "signing in by the proxy"


def named_user(scope: Mapping[str, Any], sign_in: ProxySignIn | None) -> str | None:
    """The user that the proxy names in a request, as written; None without one, or if the request is not the proxy's."""
    if sign_in is None or not sign_in.trusts(str(scope.get(PEER, ""))):
        return None
    values = Headers(raw=scope["headers"]).getlist(sign_in.header)
    # One that is named twice has no name that is valid.
    return ", ".join(values) if values else None


def caller_named(user: str, headers: Headers, sign_in: ProxySignIn, url: str) -> Caller:
    """The caller that the proxy names; AuthError if it is no name, or the request is not for this service."""
    if not USER_NAME.fullmatch(user) or ID.fullmatch(user):
        allowed = "up to 64 letters, digits and . _ @ -, named once"
        what = f"{sign_in.header} is not the name of a user"
        raise AuthError(_SIGNING_IN, user[:64], what, f"let the proxy send a name of {allowed}")
    if not _is_own(headers.get("host", ""), url):
        what = f"the request is for the host {headers.get('host', '')}"
        hint = "set LONGHAUL_URL to the address of the proxy, or let it send the service's address as Host"
        raise AuthError(_SIGNING_IN, user, what, hint)
    return Caller("", user, sign_in.scope_of(user), by_proxy=True)


def check_change(headers: Headers, path: str, url: str, sent: str, expected: str) -> None:
    """NotAllowed if another site may have made the browser send a change."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        same = site == "same-origin"
    else:
        # Browsers send at least the origin with a change; programs send neither.
        own = {headers.get("host", ""), urlsplit(url).netloc}
        same = origin is None or urlsplit(origin).netloc in own - {""}
    if not same:
        what = f"another site sent the request ({origin or site})"
        raise NotAllowed("changing something at", path, what, "use the web page of this service")
    if not hmac.compare_digest(sent.encode(), expected.encode()):
        what = "the header X-CSRF-Token is not that of GET /session"
        raise NotAllowed("changing something at", path, what, "send it, or use a token in the header Authorization")


def _is_own(host: str, url: str) -> bool:
    """Whether a Host is this service's: that of its address, an address in numbers, or a name within this machine or network."""
    if host == urlsplit(url).netloc:
        return True
    name = re.sub(r":[0-9]+$", "", host)
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return bool(name) and "." not in name
    return True
