"""Health checks of containers: a worker that has its scheduler, and one that lost it; a service that answers, refuses or is not there."""

from __future__ import annotations

import runpy
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.support.folders import REPOSITORY
from tests.support.parts import free_port

_SCRIPT = REPOSITORY / "playbooks" / "containers" / "health.py"
problem_of: Callable[[str, int], str] = runpy.run_path(str(_SCRIPT))["problem_of"]


@contextmanager
def answering(status: int) -> Iterator[tuple[int, list[str]]]:
    """A server on a port that answers everything with this status, and the paths that it was asked for."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, asked
        finally:
            server.shutdown()
            thread.join()


def test_a_worker_is_well_as_long_as_it_has_a_scheduler() -> None:
    with socket.create_server(("127.0.0.1", 0)) as scheduler:
        port = scheduler.getsockname()[1]
        # A socket that listens is no connection.
        assert problem_of("worker", port) == f"no connection to a scheduler's port {port}"
        with socket.create_connection(("127.0.0.1", port)):
            assert problem_of("worker", port) == ""
    assert problem_of("worker", port) != ""


@pytest.mark.parametrize(("kind", "page"), [("service", "/readyz"), ("scheduler", "/health")])
def test_what_answers_is_well(kind: str, page: str) -> None:
    with answering(200) as (port, asked):
        assert problem_of(kind, port) == ""
    assert asked == [page]


@pytest.mark.parametrize("kind", ["service", "scheduler"])
def test_what_does_not_answer_or_says_no_is_not(kind: str) -> None:
    with answering(503) as (port, _):
        assert "503" in problem_of(kind, port)
    assert "refused" in problem_of(kind, free_port())
