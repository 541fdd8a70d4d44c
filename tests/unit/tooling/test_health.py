"""Health checks of containers: a worker with its scheduler and without it; a service that answers, refuses or is not there."""

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
    """The port of a server that answers every request with this status, and the requested paths."""
    paths: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *words: object) -> None:
            """Nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port, paths
        finally:
            server.shutdown()
            thread.join()


def test_a_worker_is_healthy_as_long_as_it_has_a_scheduler() -> None:
    with socket.create_server(("127.0.0.1", 0)) as scheduler:
        port = scheduler.getsockname()[1]
        # A listening socket does not count as a connection.
        assert problem_of("worker", port) == f"no connection to a scheduler's port {port}"
        with socket.create_connection(("127.0.0.1", port)):
            assert problem_of("worker", port) == ""
    assert problem_of("worker", port) != ""


@pytest.mark.parametrize(("kind", "page"), [("service", "/readyz"), ("scheduler", "/health")])
def test_a_service_that_answers_is_healthy(kind: str, page: str) -> None:
    with answering(200) as (port, paths):
        assert problem_of(kind, port) == ""
    assert paths == [page]


@pytest.mark.parametrize("kind", ["service", "scheduler"])
def test_a_service_that_refuses_or_does_not_answer_is_not_healthy(kind: str) -> None:
    with answering(503) as (port, _):
        assert "503" in problem_of(kind, port)
    assert "refused" in problem_of(kind, free_port())
