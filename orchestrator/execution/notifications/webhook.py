"""Webhooks: a signed POST, in the form of Standard Webhooks, so that libraries of many languages can verify it.

    webhook-id          the id of the message: a repeat has the same
    webhook-timestamp   when it was sent, in seconds since 1970: a receiver refuses an old one
    webhook-signature   v1,BASE64 of HMAC-SHA256(secret, "ID.TIMESTAMP.BODY"); the secret is what is behind `whsec_`, decoded

A redirect is not followed, no proxy of the environment is used, and an attempt has a limit of time, however slowly the receiver replies.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from collections.abc import Sequence
from importlib.metadata import version

from longhaul.orchestrator.execution.notifications.addresses import AddressRefused, connect, read_url
from longhaul.orchestrator.execution.notifications.outcome import Outcome, delivered, failed, later
from longhaul.orchestrator.system.access_settings import Network
from longhaul.orchestrator.system.errors import PlanError

SECRET_PREFIX = "whsec_"  # noqa: S105 (the form of a secret)
# Of a step, and of the whole attempt.
_STEP_S, _LONGEST_S = 10.0, 20.0
_REPLY_BYTES = 2000
_GONE = 410


def signature(secret: str, key: str, timestamp: int, body: bytes) -> str:
    """The header of a message's signature; `secret` is in base64, without its prefix."""
    signed = b".".join((key.encode(), str(timestamp).encode(), body))
    return "v1," + base64.b64encode(hmac.digest(base64.b64decode(secret), signed, hashlib.sha256)).decode()


def post(url: str, secret: str, key: str, body: bytes, networks: Sequence[Network]) -> Outcome:
    """Send one message, once."""
    try:
        parts = read_url(url, networks)
    except PlanError as error:
        # The operator's networks have changed since.
        return failed(error.what)
    timestamp = int(time.time())
    headers = {
        "Host": parts.netloc,
        "Connection": "close",
        "Content-Type": "application/json",
        "User-Agent": f"Longhaul/{version('longhaul')}",
        "webhook-id": key,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature(secret, key, timestamp, body),
    }
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection = http.client.HTTPConnection(host, port)
    held: list[socket.socket] = []
    limit = threading.Timer(_LONGEST_S, _cut, [held])
    limit.daemon = True
    try:
        held.append(connect(host, port, networks, _STEP_S))
        limit.start()
        if parts.scheme == "https":
            held.append(
                ssl.create_default_context().wrap_socket(held[0], server_hostname=host, do_handshake_on_connect=False)
            )
            held[-1].do_handshake()  # type: ignore[attr-defined]  # it is encrypted
        connection.sock = held[-1]
        place = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("POST", place, body, headers)
        response = connection.getresponse()
        return _outcome(response.status, response.reason, _reply(response))
    except AddressRefused as error:
        return failed(str(error))
    except (OSError, http.client.HTTPException) as error:
        return later(f"{parts.netloc} did not reply: {error or type(error).__name__}")
    finally:
        limit.cancel()
        for one in held:
            one.close()


def _reply(response: http.client.HTTPResponse) -> bytes:
    """The beginning of the reply; its status counts, also if the rest does not arrive."""
    try:
        return response.read(_REPLY_BYTES)
    except (OSError, http.client.HTTPException):
        return b""


def _outcome(status: int, reason: str, reply: bytes) -> Outcome:
    text = f"{status} {reason} {reply.decode(errors='replace')}"
    if 200 <= status < 300:
        return delivered(text)
    if 300 <= status < 400:
        return later(f"{status} {reason}, and redirects are not followed")
    return failed(text) if status == _GONE else later(text)


def _cut(held: Sequence[socket.socket]) -> None:
    """End an attempt that lasts too long: its thread then reads the end of the connection."""
    for one in held:
        with contextlib.suppress(OSError):
            # The plain socket's: the thread that reads ends the encryption.
            socket.socket.shutdown(one, socket.SHUT_RDWR)
