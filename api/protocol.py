"""HTTP as this service speaks it: what comes before a body is small and comes soon, or the connection ends.

The parser below has no limit of its own, neither of size nor of time: a stranger could fill the memory with one header, or
hold connections open for good with one byte a minute.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 64 * 1024
_HEAD_PATIENCE_S = 20.0
_TOO_LARGE = b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class Bounded(HttpToolsProtocol):
    """One connection."""

    _reading_head = True
    _head_bytes = 0
    _patience: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Somebody is there, and has so long to say what they want."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """They are gone."""
        self._head_is_there()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, unless this is too much of a head. Pieces of a body are counted where it is read."""
        if self._reading_head:
            if self._patience is None:
                self._wait_for_head()
            self._head_bytes += len(data)
        super().data_received(data)
        # The parser has said whether the head ended within this piece, however large that was.
        if self._reading_head and self._head_bytes > MOST_HEAD_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LARGE)
            self.transport.close()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._reading_head = True

    def on_headers_complete(self) -> None:
        """All that comes before a body is there."""
        self._head_is_there()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; what comes now is the next one's head."""
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
