"""What both receivers share: a server in a thread of its own, which can be away for a while, and a wait for what arrives."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Sequence
from typing import TypeVar

from tests.support.waiting import wait_for

_PATIENCE_S = 120
_Item = TypeVar("_Item")


class Listening:
    """One server on loopback; `port` is 0 before its first start."""

    port: int = 0
    _server: socketserver.TCPServer | None = None

    def listen(self, server: socketserver.TCPServer) -> None:
        """Serve until `stop`."""
        self._server, self.port = server, server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        """Be away."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


def when_there(items: Sequence[_Item], count: int) -> Sequence[_Item]:
    """The items, when there are so many."""
    wait_for(lambda: len(items) >= count, _PATIENCE_S, lambda: f"{len(items)} of {count} arrived: {items}")
    return items
