"""A reverse proxy that serves the service below a prefix, which it strips or keeps; it can authenticate users."""

from __future__ import annotations

import base64
import contextlib
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx

# The header in which it names its users.
USER_HEADER = "X-Remote-User"
_HOP = ("connection", "transfer-encoding", "content-length", "keep-alive", "date", "server")


@contextlib.contextmanager
def below_prefix(service: str, prefix: str, *, strips: bool, users: Mapping[str, str] | None = None) -> Iterator[str]:
    """The address of the proxy, which answers 404 outside the prefix; with users and their passwords, 401 to others."""
    known = {
        "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode(): user
        for user, password in (users or {}).items()
    }
    client = httpx.Client(base_url=service, timeout=60)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            if not self.path.startswith(f"{prefix}/"):
                self.send_error(404)
                return
            path = self.path[len(prefix) :] if strips else self.path
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = [(name, value) for name, value in self.headers.items() if name.lower() not in _HOP]
            if users is not None:
                user = known.get(self.headers.get("Authorization", ""))
                if user is None:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="lab"')
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                # A client cannot name itself.
                headers = [one for one in headers if one[0].lower() != USER_HEADER.lower()] + [(USER_HEADER, user)]
            with client.stream(self.command, path, content=body, headers=headers) as answer:
                self.send_response(answer.status_code)
                for name, value in answer.headers.multi_items():
                    if name.lower() not in _HOP:
                        self.send_header(name, value)
                self.send_header("Connection", "close")
                self.end_headers()
                for piece in answer.iter_raw():
                    self.wfile.write(piece)
                    self.wfile.flush()
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = forward  # noqa: N815 (names of the base class)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        client.close()
