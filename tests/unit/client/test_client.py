"""The client with a misbehaving server: real sockets, and responses that break off, come twice, or are not Longhaul's."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

import pytest

from longhaul.client import Client, Event
from longhaul.orchestrator.system.errors import (
    BackendUnavailable,
    GuestDied,
    LonghaulError,
    NotFound,
    OverLimit,
    PlanError,
    ServiceUnavailable,
    SpecError,
    error_of_parts,
)

TOKEN = "lh_000000000000_" + "x" * 43
EXPERIMENT = "0123456789abcdef"
Answer = Callable[[BaseHTTPRequestHandler], None]


class Received(NamedTuple):
    """A request as it arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


@contextmanager
def server(*answers: Answer) -> Iterator[tuple[str, list[Received]]]:
    """A server that gives these responses in turn, the last one for ever; its URL, and the requests that it received."""
    received: list[Received] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            received.append(Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
            answers[min(len(received), len(answers)) - 1](self)
            self.close_connection = True

        do_GET = do_POST = do_PUT = answer  # noqa: N815 (names of the base class)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (a name of the base class)
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=listening.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}", received
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


def respond(status: int, body: object, kind: str = "application/json", **headers: str) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        text = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(text)), **headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(text)

    return answer


def refuse(status: int, kind: str, **parts: object) -> Answer:
    body = {"type": f"/problems/{kind}", "title": "No", "status": status, "detail": "", **parts}
    retry = {"Retry_After": str(parts["retry"])} if "retry" in parts else {}
    return respond(status, body, "application/problem+json", **retry)


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    """Close the connection without a response."""


def stream(*events: int, over: bool = False) -> Answer:
    """Events of these ids, and then the connection breaks in the middle of a chunk, or the stream ends."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.protocol_version = "HTTP/1.1"
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        text = "retry: 2000\n\n"
        for number in events:
            kind = "experiment.finished" if over and number == events[-1] else "run.progress"
            text += f"id: {number}\nevent: {kind}\ndata: {json.dumps({'at': 'now', 'kind': kind, 'run': 'r'})}\n\n"
        text += ": quiet\n\n"
        handler.wfile.write(f"{len(text) + (0 if over else 5):x}\r\n{text}".encode())
        handler.wfile.write(b"\r\n0\r\n\r\n" if over else b"id: 9")

    return answer


LIVE: dict[str, Any] = {
    **dict.fromkeys(("href", "name", "about", "owner", "created_at"), "x"),
    "id": EXPERIMENT,
    "status": "running",
    "priority": 0,
    "finished_at": None,
    "spec": {},
    "lint": [],
    "asked": {},
    "progress": dict.fromkeys(("total", "cached", "done", "missed", "failed", "cancelled"), 0),
    "runs": [],
    "links": {},
    "a_field_of_a_newer_service": 1,
}


def test_a_broken_stream_continues_after_the_last_event_without_duplicates() -> None:
    live = respond(200, LIVE)
    answers = [stream(1, 2), hang_up, live, stream(2, 3), refuse(503, "record-unreachable"), stream(3, 4, over=True)]

    def by_path(handler: BaseHTTPRequestHandler) -> None:
        if handler.path.endswith("/events"):
            waiting.pop(0)(handler)
        else:
            live(handler)

    waiting = [one for one in answers if one is not live]
    with server(by_path) as (url, received), Client(url, TOKEN) as client:
        events: list[Event] = [*client.follow(EXPERIMENT)]
    assert [event.id for event in events] == [1, 2, 3, 4]
    followed = [one.headers["last-event-id"] for one in received if one.path.endswith("/events")]
    assert followed == ["0", "2", "2", "3", "3"]
    assert waiting == []


def test_a_quiet_stream_of_an_ended_experiment_is_closed() -> None:
    ended = respond(200, {**LIVE, "status": "done"})

    def by_path(handler: BaseHTTPRequestHandler) -> None:
        (stream() if handler.path.endswith("/events") else ended)(handler)

    with server(by_path) as (url, _), Client(url, TOKEN) as client:
        assert [*client.follow(EXPERIMENT)] == []
        assert client.wait(EXPERIMENT).status == "done"


def test_a_submission_is_repeated_under_one_key_until_it_is_answered() -> None:
    answers = [hang_up, respond(502, "<html>", "text/html"), refuse(429, "over-limit", retry=1), respond(201, LIVE)]
    with server(*answers) as (url, received), Client(url, TOKEN) as client:
        assert client.submit({"experiment": "x"}, priority=3).id == EXPERIMENT
    assert len(received) == 4
    assert len({one.headers["idempotency-key"] for one in received}) == 1
    assert {one.headers["authorization"] for one in received} == {f"Bearer {TOKEN}"}
    assert json.loads(received[0].body) == {"spec": {"experiment": "x"}, "priority": 3}


@pytest.mark.parametrize(
    ("answer", "error", "sentence", "code"),
    [
        (refuse(404, "not-found", what="there is none", attempting="looking for", subject="x"), NotFound, "there is none", 2),
        (refuse(422, "spec-error", subject="e", problems=["a: b", "c: d"]), SpecError, "e: a: b\ne: c: d", 2),
        (refuse(429, "over-limit", what="too many", hint="wait"), OverLimit, "too many; wait", 2),
        (refuse(503, "backend-unavailable", subject="sandbox", what="no kernel"), BackendUnavailable, "no kernel", 3),
        (refuse(413, "http-413", detail="a request may have at most 1024 KiB"), PlanError, "1024 KiB", 2),
        (refuse(500, "fault", hint="please report it"), LonghaulError, "please report it", 4),
        (respond(404, "<html>not found</html>", "text/html"), ServiceUnavailable, "404, but not from Longhaul", 3),
        (respond(301, "", "text/html", Location="http://127.0.0.1:9/"), ServiceUnavailable, "301", 3),
    ],
)  # fmt: skip
def test_a_refusal_raises_the_error_of_the_service(
    answer: Answer, error: type[LonghaulError], sentence: str, code: int
) -> None:
    with server(answer) as (url, received), Client(url, TOKEN) as client:
        with pytest.raises(error) as refused:
            client.experiment(EXPERIMENT)
        assert len(received) == 1
    assert type(refused.value) is error
    assert sentence in str(refused.value)
    assert refused.value.exit_code == code


def test_every_kind_of_error_is_transmitted() -> None:
    def kinds(root: type[LonghaulError]) -> Iterator[type[LonghaulError]]:
        yield root
        for branch in root.__subclasses__():
            yield from kinds(branch)

    for kind in kinds(LonghaulError):
        error = error_of_parts(kind.kind(), "doing", "this", "it broke", "do that")
        assert type(error) is kind
        assert "it broke" in str(error)
    assert error_of_parts("no-such-error", "doing", "this", "it broke") is None
    assert isinstance(error_of_parts(GuestDied.kind(), "", "g", "w"), GuestDied)


def test_an_unreachable_server_is_given_up_soon_and_a_silent_one_is_retried() -> None:
    with (
        Client("http://127.0.0.1:9", TOKEN) as client,
        pytest.raises(ServiceUnavailable, match="check that the service is running there"),
    ):
        client.baselines()
    with server(respond(200, []), hang_up) as (url, received), Client(url, TOKEN, patience_s=1.0) as client:
        assert client.baselines() == []
        with pytest.raises(ServiceUnavailable):
            client.baselines()
        assert len(received) > 3


def test_a_series_is_arrays() -> None:
    body = {
        "run": "r",
        "measure": "cwnd",
        "of": "app",
        "unit": "packets",
        "of_values": 9,
        "t_s": [0, 1],
        "value": [7, 8],
    }
    with server(respond(200, body)) as (url, received), Client(url, TOKEN) as client:
        series = client.series("r", "cwnd", flow="app", begin_s=0.5)
        frame = client.frame("r", ["cwnd"], flows=["app", "app"])
    assert received[0].path == "/api/v1/runs/r/series?measure=cwnd&flow=app&from=0.5"
    assert (series.unit, series.value.dtype.kind, series.value.tolist()) == ("packets", "f", [7, 8])
    assert [len(column) for column in frame.values()] == [4, 4, 4, 4]


def test_names_of_branches_reach_the_service_as_they_are() -> None:
    baseline = {"name": "n", "branch": "b", "experiment_id": EXPERIMENT, "set_at": "", "set_by": ""}
    with server(respond(200, baseline)) as (url, received), Client(url + "/behind/", TOKEN) as client:
        client.baseline("mine", "feature/50% #1?")
    assert received[0].path == "/behind/api/v1/baselines/mine/feature/50%25%20%231%3F"
