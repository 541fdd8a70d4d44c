"""Limits on HTTP heads: they are small and arrive soon, or the connection ends.

The parser has no limits of size or time: an attacker could fill the memory with one header, or
hold connections open forever with one byte a minute.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from longhaul.api.errors import PROBLEM_TYPE, problem_document
from longhaul.api.proxy_sign_in import PEER

MOST_HEAD_BYTES = 64 * 1024
_HEAD_PATIENCE_S = 20.0
_REASONS = {400: "Bad Request", 431: "Request Header Fields Too Large"}
# The bytes of a header besides its name and value: a colon, a space, the end of the line.
_AROUND_HEADER_BYTES = 4


class _TooLarge(Exception):
    """The head, or the trailers after a body, are too large."""


class Bounded(HttpToolsProtocol):
    """One connection."""

    _reading_head = True
    # The bytes since the last callback of the parser, and the exact size of the fields of the current request.
    _head_bytes = 0
    _field_bytes = 0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the time limit for the first head."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limit."""
        self._head_is_there()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, unless the head is too large. A body is counted where it is read."""
        if self._reading_head and self._patience is None:
            self._wait_for_head()
        self._head_bytes += len(data)
        super().data_received(data)
        # The parser has reported whether the head ended within this piece.
        if self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431)

    def send_400_response(self, msg: str) -> None:
        """Refuse what the parser rejects, or what became too large while it was parsed."""
        self._refuse(431 if self._field_bytes > MOST_HEAD_BYTES else 400)

    def _refuse(self, status: int) -> None:
        if self.cycle is None or self.cycle.response_complete:
            what = f"a head may have at most {MOST_HEAD_BYTES // 1024} KiB" if status == 431 else "this is not HTTP"
            document = problem_document(secrets.token_hex(8), status, f"http-{status}", _REASONS[status], detail=what)
            body = json.dumps(document).encode()
            head = (
                f"HTTP/1.1 {status} {_REASONS[status]}\r\ncontent-type: {PROBLEM_TYPE}\r\ncontent-length: {len(body)}\r\n"
                f"x-content-type-options: nosniff\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
        self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        # Forwarded headers replace the client, never this.
        self.scope[PEER] = self.client[0] if self.client else ""  # type: ignore[literal-required]
        self._reading_head, self._field_bytes = True, 0

    def on_url(self, url: bytes) -> None:
        """A piece of the address."""
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """A field of the head or of the trailers."""
        self._count(len(name) + len(value) + _AROUND_HEADER_BYTES)
        super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A piece of a body."""
        self._head_bytes = 0
        super().on_body(body)

    def _count(self, length: int) -> None:
        self._field_bytes += length
        if self._field_bytes > MOST_HEAD_BYTES:
            raise _TooLarge

    def on_headers_complete(self) -> None:
        """The head is complete."""
        self._head_is_there()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is complete; the head of the next one follows."""
        super().on_message_complete()
        self._reading_head, self._head_bytes = True, 0

    def _wait_for_head(self) -> None:
        self._patience = self.loop.call_later(_HEAD_PATIENCE_S, self._give_up)

    def _head_is_there(self) -> None:
        self._reading_head, self._head_bytes = False, 0
        if self._patience is not None:
            self._patience.cancel()
            self._patience = None

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
