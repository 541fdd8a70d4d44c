"""An HTTP server that keeps what is posted to it, and replies with the statuses that a test lists; it can be away for a while."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.receivers.listening import Listening, when_there


@dataclass
class Post:
    """One request."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        """The id of its message."""
        return self.headers["webhook-id"]

    @property
    def message(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.body)
        return found

    def is_signed_by(self, secret: str) -> bool:
        """Whether the signature is that of Standard Webhooks, computed here from its specification."""
        key = base64.b64decode(secret.removeprefix("whsec_"))
        signed = f"{self.id}.{self.headers['webhook-timestamp']}.".encode() + self.body
        right = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
        return hmac.compare_digest(self.headers["webhook-signature"], f"v1,{right}")


@dataclass
class WebhookServer(Listening):
    """The server: `answers` are the next statuses, and the last one repeats."""

    answers: list[int] = field(default_factory=lambda: [200])
    reply: bytes = b"thanks"
    # Before it replies.
    pause_s: float = 0.0
    posts: list[Post] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?lab=1"

    def start(self) -> None:
        """Listen, at the port that it had if it had one."""
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                outer.posts.append(Post(self.path, dict(self.headers), body))
                time.sleep(outer.pause_s)
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    if 300 <= status < 400:
                        self.send_header("Location", outer.url)
                    self.end_headers()
                    self.wfile.write(outer.reply)

            def log_message(self, *words: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        server.daemon_threads = True
        self.listen(server)

    def wait(self, count: int) -> Sequence[Post]:
        """The posts, when there are so many."""
        return when_there(self.posts, count)


@contextlib.contextmanager
def receiving(**more: Any) -> Iterator[WebhookServer]:
    """A server while the context lasts."""
    server = WebhookServer(**more)
    server.start()
    try:
        yield server
    finally:
        server.stop()
