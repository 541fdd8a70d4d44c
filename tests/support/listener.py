"""A small HTTP server that takes annotations as Grafana's API does, and records its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from longhaul.orchestrator.system.settings import Grafana


@dataclass
class Recorder:
    """The requests to a server, and its responses while `respond` is set; the last response repeats."""

    answers: list[int] = field(default_factory=lambda: [200])
    requests: list[tuple[str, dict[str, str], Any]] = field(default_factory=list)
    there: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    respond: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self.respond.set()

    def wait(self, times: int) -> None:
        for _ in range(times):
            assert self.there.acquire(timeout=60)


@contextmanager
def listening(recorder: Recorder) -> Iterator[Grafana]:
    """Run the server."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            recorder.requests.append((self.path, dict(self.headers), body))
            status = recorder.answers.pop(0) if len(recorder.answers) > 1 else recorder.answers[0]
            recorder.there.release()
            recorder.respond.wait(60)
            answer = json.dumps({"message": "Annotation added", "id": len(recorder.requests)}).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *words: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Grafana(f"http://127.0.0.1:{server.server_address[1]}", "glsa_secret")
        recorder.respond.set()
        server.shutdown()
        thread.join()
