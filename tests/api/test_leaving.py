"""Callers that disconnect early, come in crowds, or request ranges: no fault is logged, no memory is leaked, and limits are exact."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import re
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.types import Message

from longhaul.api.app import create_app
from longhaul.api.routes.files import _wanted
from tests.api.hostile import BASE, PROBLEM
from tests.support.operations import settings
from tests.support.service import ROOT, Service
from tests.support.waiting import wait_for

FOLLOWERS = 200
# The allowed growth of the service's memory after all followers have left, in KiB.
GROWTH_KB = 30 * 1024


def requests_of(service: Service, operation: str) -> dict[str, int]:
    """The count of each status of an operation, from the service's metrics."""
    with service.client(None) as client:
        text = client.get("/metrics").text
    found = re.findall(rf'longhaul_request_seconds_count{{operation="{operation}",status="(\d+)"}} (\S+)', text)
    return {status: int(float(count)) for status, count in found}


def leave(service: Service, sent: bytes) -> None:
    """Send this and reset the connection."""
    with socket.create_connection(("127.0.0.1", service.port)) as caller:
        caller.sendall(sent)
        caller.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def answer_to(service: Service, sent: bytes) -> bytes:
    """Send this and return all bytes up to the end of the connection."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=60) as caller, contextlib.suppress(OSError):
        caller.sendall(sent)
        caller.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: caller.recv(65536), b""))
    return b""


def test_a_caller_that_disconnects_in_the_middle_of_a_body_is_not_logged_as_a_fault(service: Service) -> None:
    before, logged = requests_of(service, "log_in"), len(service.log_lines())
    half = f"POST {ROOT}/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{{"
    for _ in range(20):
        leave(service, half.encode())
    wait_for(lambda: requests_of(service, "log_in").get("499", 0) >= before.get("499", 0) + 20)
    assert requests_of(service, "log_in").get("500", 0) == before.get("500", 0)
    lines = service.log_lines()[logged:]
    assert not [line for line in lines if "traceback" in line]
    assert {line["level"] for line in lines if line.get("status") == 499} == {"info"}


@pytest.mark.parametrize(
    "sent",
    [
        b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
        b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 12_000 + b"\r\n",
        b"GET /healthz?" + b"x" * 100_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_a_head_above_the_limit_is_431(sent: bytes, service: Service) -> None:
    answer = answer_to(service, sent)
    head, _, body = answer[answer.rindex(b"HTTP/1.1 431") :].partition(b"\r\n\r\n")
    assert f"content-type: {PROBLEM}".encode() in head
    assert json.loads(body)["status"] == 431
    assert b"200 OK" not in answer


def test_the_limit_of_a_head_holds_for_a_second_request_too(service: Service) -> None:
    first = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = answer_to(service, first + first[:-2] + b"X: " + b"x" * 100_000 + b"\r\n\r\n")
    assert answer.count(b"200 OK") <= 1


def test_a_head_within_the_limit_is_read(service: Service) -> None:
    with service.client(None) as client:
        assert client.get("/healthz", headers={"X": "x" * 60_000}).status_code == 200


def test_trailers_and_chunk_extensions_do_not_evade_the_limit(service: Service) -> None:
    head = f"POST {ROOT}/session HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    for rest in (b"1\r\n{\r\n0\r\n" + b"X: y\r\n" * 40_000, b"1;" + b"x" * 300_000):
        begun_s = time.monotonic()
        assert b"200 OK" not in answer_to(service, head.encode() + rest)
        assert time.monotonic() - begun_s < 15, "it was refused only by a timeout"


def test_a_compressed_body_is_415(service: Service) -> None:
    with service.client("run") as client:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = client.post(f"{ROOT}/plans", content=gzip.compress(b"{}"), headers=headers)
    assert (answer.status_code, answer.headers["content-type"], answer.headers["accept-encoding"]) == (
        415, PROBLEM, "identity",
    )  # fmt: skip
    assert "gzip" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("header", "wanted"),
    [
        ("bytes=0-9", "bytes=0-9"), ("bytes=90-", "bytes=90-"), ("bytes=-10", "bytes=-10"), ("Bytes = 1-2 , 4-5", "bytes=1-2,4-5"),
        ("bytes=50-500", "bytes=50-500"), ("bytes=0-1,200-300", "bytes=0-1"),
        ("bytes=5-1", ""), ("bytes=", ""), ("bytes", ""), ("", ""), ("lines=1-2", ""), ("bytes=a-b", ""), ("bytes=-", ""), ("bytes=0-1,x", ""),
        ("bytes=--5", ""), ("bytes=1-2-3", ""), ("bytes=" + "9" * 5000 + "-", ""), ("bytes=٣-٤", ""),
    ],
)  # fmt: skip
def test_an_invalid_range_is_ignored(header: str, wanted: str) -> None:
    assert _wanted(header, 100) == wanted


def test_a_range_request_returns_the_range(service: Service) -> None:
    place = f"{ROOT}/runs/{service.run}/files/flows.csv"
    with service.client("read") as client:
        whole = client.get(place).content
        for header, status, content in (
            ("bytes=5-9", 206, whole[5:10]), ("bytes=-4", 206, whole[-4:]), ("bytes=5-1", 200, whole), ("lines=1-2", 200, whole),
        ):  # fmt: skip
            answer = client.get(place, headers={"Range": header})
            assert (answer.status_code, answer.content) == (status, content), header
        beyond = client.get(place, headers={"Range": f"bytes={len(whole)}-"})
    assert (beyond.status_code, beyond.headers["content-type"]) == (416, PROBLEM)
    assert beyond.headers["content-range"] == f"bytes */{len(whole)}"


def test_metrics_are_counted_once_a_second_for_all_callers(tmp_path: Path) -> None:
    app = create_app(settings(tmp_path))
    counted: list[float] = []
    real = app.state.lab.store.catalog.by_status

    def count() -> dict[str, int]:
        counted.append(time.monotonic())
        found: dict[str, int] = real()
        return found

    app.state.lab.store.catalog.by_status = count

    async def ask() -> list[int]:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://lab") as client:
            answers = await asyncio.gather(*(client.get("/metrics") for _ in range(30)))
            await asyncio.sleep(1.1)
            return [answer.status_code for answer in [*answers, await client.get("/metrics")]]

    assert set(asyncio.run(ask())) == {200}
    app.state.lab.close()
    assert len(counted) == 2


@pytest.fixture
def ended(tmp_path: Path) -> Iterator[tuple[FastAPI, str, dict[str, str]]]:
    """A service in this process with a limit of one open stream for each caller, the events of an ended experiment, and a token."""
    from dataclasses import replace

    from longhaul.orchestrator.database.work import Wanted
    from tests.support.queue import RUN, Lab

    app = create_app(replace(settings(tmp_path), most_streams=1))
    token, _ = app.state.lab.access.add_token("follower", "read")
    lab, key = Lab(app.state.lab.store.database), "e" * 16
    lab.submit(key, [Wanted("f" * 20, RUN, {})])
    app.state.lab.experiments.cancel(key)
    yield app, f"{ROOT}/experiments/{key}/events", {"Authorization": f"Bearer {token}"}
    app.state.lab.close()


def test_a_caller_has_no_more_open_streams_than_allowed(ended: tuple[FastAPI, str, dict[str, str]]) -> None:
    app, place, headers = ended

    async def ask() -> list[httpx.Response]:
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url="http://lab", headers=headers
        ) as client:
            first = await client.get(place)
            with app.state.streams.one_of("follower"):
                second = await client.get(place)
            with app.state.streams.one_of("another caller"):
                return [first, second, await client.get(place)]

    first, second, third = asyncio.run(ask())
    assert (first.status_code, third.status_code) == (200, 200), first.text
    assert (second.status_code, second.headers["content-type"]) == (429, PROBLEM)
    assert second.headers["retry-after"] == "5"
    assert "follower has 1 event streams open, and 1 are allowed" in second.json()["detail"]
    assert not app.state.streams._open


def test_a_download_that_is_cut_off_before_its_first_byte_is_not_logged_as_a_fault(service: Service) -> None:
    app = create_app(settings(service.home))
    place = f"{ROOT}/runs/{service.run}/files/manifest.json"
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": place, "raw_path": place.encode(), "root_path": "", "query_string": b"", "client": None, "server": ("lab", 80),
        # Compression delays the head of a response until there is data to compress.
        "headers": [(b"authorization", f"Bearer {service.tokens['read']}".encode()), (b"accept-encoding", b"gzip")],
    }  # fmt: skip
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> bytes:
        await asyncio.wait_for(app(scope, receive, send), 60)
        text: bytes = app.state.gauges.text(app.state.lab, app.state.hub)
        return text

    metrics = asyncio.run(ask())
    app.state.lab.close()
    assert not sent, "the connection had to end before the first byte"
    assert b'longhaul_request_seconds_count{operation="download_file",status="499"} 1.0' in metrics
    assert b'status="500"' not in metrics


def resident_kb(pid: int) -> int:
    """The resident memory of a process."""
    return int(re.findall(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[0])


async def follow_together(service: Service, place: str, count: int) -> None:
    """Open so many streams at once, each accepting every compression, and then reset them."""
    head = (
        f"GET {place} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.tokens['read']}\r\n"
        "Accept-Encoding: zstd, br, gzip\r\n\r\n"
    )
    callers = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", service.port)
        writer.write(head.encode())
        callers.append((reader, writer))
    for reader, _ in callers:
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 120)
        assert b" 200 " in answer and b"content-encoding" not in answer, answer
        while b"event: experiment.queued" not in await asyncio.wait_for(reader.readline(), 120):
            pass
    for _, writer in callers:
        writer.transport.abort()


def growth_kb(service: Service, count: int) -> int:
    """The growth of the service's memory by so many followers; 20 before the measurement allocate what all share."""
    made = service.submit({"spec": {**BASE, "duration": "4000 s"}, "priority": -10})
    place = f"{ROOT}/experiments/{made['id']}/events"

    def gone() -> bool:
        with service.client(None) as client:
            return "longhaul_followers 0.0" in client.get("/metrics").text

    asyncio.run(follow_together(service, place, 20))
    wait_for(gone)
    before_kb = resident_kb(service.pid)
    for _ in range(max(1, count // 500)):
        asyncio.run(follow_together(service, place, min(count, 500)))
        wait_for(gone)
    after_kb = resident_kb(service.pid)
    with service.client("run") as client:
        client.post(f"{ROOT}/experiments/{made['id']}/cancel")
    print(f"{count} followers: {before_kb} kB before, {after_kb} kB after")
    return after_kb - before_kb


def test_followers_that_left_leave_no_memory_behind(service: Service) -> None:
    assert growth_kb(service, FOLLOWERS) < GROWTH_KB


def test_a_body_may_be_the_experiment_itself(service: Service) -> None:
    with service.client("read") as client:
        whole = client.post(f"{ROOT}/plans", json={"spec": BASE})
        itself = client.post(f"{ROOT}/plans", json=BASE)
        assert (whole.status_code, itself.status_code) == (200, 200), itself.text
        assert itself.json() == whole.json()
        # Its mistakes are those of an experiment, and a field of a request is an unknown field in it.
        wrong = client.post(f"{ROOT}/plans", json=BASE | {"priority": 3})
        assert (wrong.status_code, wrong.json()["type"]) == (422, "/problems/spec-error")
        assert "priority: unknown field; known: experiment, " in wrong.json()["detail"]


def test_an_unknown_field_is_refused_with_the_known_ones(service: Service) -> None:
    with service.client() as client:
        plan = client.post(f"{ROOT}/plans", json={"path": BASE["path"], "duration": "1 s"}).json()
        both = client.post(f"{ROOT}/plans", json={"spec": BASE, "experiment": "x"}).json()
        token = client.post(f"{ROOT}/tokens", json={"name": "x", "scope": "read", "dayz": 3}).json()
    assert plan["problems"] == [
        f"body.{name}: unknown field; known: spec, shipped, set, backend, where, clock, hosts, seed, repeats, priority, title, tags, comment"
        for name in ("path", "duration")
    ]
    assert both["status"] == 422 and "known: spec, shipped" in both["detail"]
    assert token["problems"] == ["body.dayz: unknown field; known: name, scope, days, nearest: days"]
