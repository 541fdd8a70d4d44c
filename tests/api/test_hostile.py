"""Hostile requests: paths out of the home, programs in experiments, forged headers."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from longhaul.api.http.middleware import MOST_BODY_BYTES
from longhaul.orchestrator.system.errors import RunDamaged
from tests.api.hostile import BASE, PROBLEM
from tests.support.operations import Operation, documented, ids_of
from tests.support.service import ROOT, Service

pytestmark = pytest.mark.usefixtures("still_ready")

ELSEWHERE = [
    "../../../../etc/passwd", "..", "....//etc/passwd", "/etc/passwd", "~root", "file:///etc/passwd", "catalogue.sqlite",
    "..%2f..%2fetc%2fpasswd", "..\\..\\etc", "x\0.json", "C:\\", "%2e%2e/%2e%2e", "a/../../b", "'; DROP TABLE runs; --", "\u202e", "é",
]  # fmt: skip


def parameters() -> list[tuple[Operation, str]]:
    """Every parameter of a path or a query."""
    return [
        (operation, one["name"])
        for operation in documented()
        for one in operation.openapi.get("parameters", [])
        if one["in"] in ("path", "query")
    ]


@pytest.mark.parametrize(("operation", "name"), parameters(), ids=lambda one: getattr(one, "name", one))
def test_no_parameter_leads_out_of_the_home(
    operation: Operation, name: str, service: Service, admin: httpx.Client
) -> None:
    (where,) = [one["in"] for one in operation.openapi["parameters"] if one["name"] == name]
    request = operation.request(admin, ids_of(service) | {"experiments.id": "0" * 16, "runs.id": "0" * 20})
    for text in ELSEWHERE:
        if where == "path" and text == "..":
            # Clients resolve it before they send the request; see test_a_path_with_dots_is_404.
            continue
        if where == "path":
            path = operation.path.replace(f"{{{name}}}", quote(text, safe=""))
            sent = admin.build_request(operation.method, path.replace("{name}", "x").replace("{id}", "0" * 16))
            if "content-type" in request.headers:
                sent = admin.build_request(operation.method, sent.url, content=request.content, headers=request.headers)
        else:
            sent = admin.build_request(operation.method, request.url.copy_merge_params({name: text}))
        answer = admin.send(sent)
        # A text that could be a name finds nothing.
        nothing = answer.status_code == 200 and _is_empty(answer)
        assert nothing or 400 <= answer.status_code < 500, (text, answer.status_code)
        assert nothing or answer.headers["content-type"] == PROBLEM
        assert "root:x" not in answer.text and str(service.home) not in answer.text


def _is_empty(answer: httpx.Response) -> bool:
    """Whether a list has no item, or a table no line below its head."""
    if answer.headers["content-type"].startswith("text/csv"):
        return len(answer.text.splitlines()) == 1
    return bool(answer.json()["items"] == [])


PROGRAMS: list[tuple[dict[str, Any], list[str]]] = [
    ({"topology": "/etc/lab.py:Lab"}, []),
    ({"topology": "./lab.py:Lab"}, []),
    ({"modules": ["/etc"]}, []),
    ({"modules": ["/proc/self/root"]}, []),
    ({}, ["topology=/etc/lab.py:Lab"]),
    ({}, ["modules=[/etc]"]),
    ({}, ["modules=[]", "modules.0=/etc"]),
    ({"sweep": {"modules": [["/etc"], ["/usr"]]}}, []),
    ({"sweep": [{"modules": ["/etc"]}]}, []),
    ({"sweep": [{"topology": "/etc/lab.py:Lab"}]}, []),
    ({}, ["sweep=[{modules: [/etc]}]"]),
    ({"path": {"bandwidth": "10 Mbit/s", "rtt": "/etc/passwd"}}, []),
    ({"flows": [{"name": "one", "cc": "../../etc/passwd"}]}, []),
    ({"flows": [{"name": "one", "cc": "cubic", "tool": "/bin/sh"}]}, []),
    ({"flows": [{"name": "one", "command": {"server": ["sh"], "client": ["cat", "/etc/passwd"]}}]}, []),
    ({"flows": [{"name": "one", "command": {"server": ["sh"], "client": ["sh"], "folder": "/etc"}}]}, []),
    ({}, ["flows.one.command={server: [sh], client: [sh]}"]),
    ({"sweep": [{"flows.one.command": {"server": ["sh"], "client": ["sh"]}}]}, []),
    ({"experiment": "../../x"}, []),
    ({"kernel": "../../boot"}, []),
]


@pytest.mark.parametrize("place", ["plans", "experiments"])
@pytest.mark.parametrize(("fields", "changes"), PROGRAMS)
def test_no_experiment_names_a_program_or_a_file(
    place: str, fields: dict[str, Any], changes: list[str], service: Service
) -> None:
    for scope in ("run", "admin"):
        with service.client(scope) as client:
            answer = client.post(f"{ROOT}/{place}", json={"spec": BASE | fields, "set": changes})
        _check_refusal(answer, fields, service)


def _check_refusal(answer: httpx.Response, fields: dict[str, Any], service: Service) -> None:
    assert answer.status_code == 422, answer.text
    found = answer.json()
    # The name itself was refused; the file was not read.
    assert "tcp_<name>.c" not in found["detail"] and "root:" not in found["detail"]
    assert str(Path.cwd()) not in found["detail"] and str(service.home) not in found["detail"]
    if not {"flows", "path", "experiment", "kernel"} & set(fields):
        assert any(
            text in found["detail"]
            for text in (" of the lab", "may differ between", "uploaded sources", "no '0' there")
        ), found


@pytest.mark.parametrize(
    "change",
    [
        "topology=/etc/lab.py:Lab",
        "modules=[/etc]",
        "sweep=[{modules: [/etc]}]",
        "flows.app.command={server: [sh], client: [sh]}",
    ],
)
def test_no_change_of_a_shipped_experiment_names_a_program_or_a_file(change: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", json={"shipped": "quick", "set": [change]})
    assert answer.status_code == 422
    assert any(text in answer.json()["detail"] for text in (" of the lab", "uploaded sources"))


@pytest.mark.parametrize("name", ["../quick", "/etc/passwd", "quick.yaml", "./quick", "", "apptcp/../quick"])
def test_the_name_of_a_shipped_experiment_is_not_a_path(name: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", json={"shipped": name})
    assert answer.status_code == 422, answer.text


def test_a_content_length_above_the_limit_is_413_before_the_body_is_read(service: Service) -> None:
    token = service.tokens["run"]
    for length in (str(MOST_BODY_BYTES + 1), "9" * 18):
        head = f"POST {ROOT}/plans HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
        assert b" 413 " in _exchange(service, head.encode()).partition(b"\r\n")[0]


def _exchange(service: Service, sent: bytes) -> bytes:
    """Send these bytes and return the response until its head is complete, the connection ends or no data comes for 5 s."""
    url = httpx.URL(service.url)
    with socket.create_connection((url.host, url.port or 80), timeout=5) as connection:
        connection.sendall(sent)
        answer = b""
        try:
            while piece := connection.recv(65536):
                answer += piece
                if b"\r\n\r\n" in answer:
                    break
        except (TimeoutError, ConnectionResetError):
            pass
        return answer


@pytest.mark.parametrize(
    "path", ["../../../etc/passwd", "runs/../../../../etc/passwd", "runs/%2e%2e/%2e%2e/etc/passwd", "./runs", "runs//"]
)
def test_a_path_with_dots_is_404(path: str, service: Service) -> None:
    sent = f"GET {ROOT}/{path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.tokens['admin']}\r\n\r\n"
    assert _exchange(service, sent.encode()).startswith(b"HTTP/1.1 404")


@pytest.mark.parametrize("number", [True, "5", "0x5", 5.5, None, [5]])
def test_only_a_number_is_taken_for_a_number(number: object, admin: httpx.Client) -> None:
    host = admin.get(f"{ROOT}/hosts").json()[0]["id"]
    for place, body in (
        (f"hosts/{host}/lease", {"seconds": number}),
        ("tokens", {"name": "number", "scope": "read", "days": number}),
        ("plans", {"shipped": "quick", "priority": number}),
    ):
        if number is None and "days" in body:
            continue
        assert admin.post(f"{ROOT}/{place}", json=body).status_code == 422, place


def test_an_endless_head_is_refused(service: Service) -> None:
    for sent in (
        b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 40_000,
        b"GET /" + b"x" * 200_000,
    ):
        assert _exchange(service, sent)[:12] in (b"", b"HTTP/1.1 431", b"HTTP/1.1 400")


@pytest.mark.parametrize(
    "head",
    [
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Request-ID: a\r\n b\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nBad Header: a\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
        "GET /\0 HTTP/1.1\r\nHost: x\r\n",
        "NONSENSE\r\n",
    ],
)
def test_invalid_http_is_400_or_harmless(head: str, service: Service) -> None:
    answer = _exchange(service, head.encode("latin-1") + b"\r\n")
    assert answer[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 200"), answer
    assert b"\r\n b" not in answer


@pytest.mark.parametrize("made_up", ["a\tb", "x" * 65, "a;b", "<script>", "{}", "a b", "%0d%0aSet-Cookie:x=y"])
def test_an_invalid_request_id_is_replaced(made_up: str, admin: httpx.Client) -> None:
    answer = admin.get("/healthz", headers={"X-Request-ID": made_up})
    assert answer.headers["x-request-id"] not in (made_up, "")
    assert "set-cookie" not in answer.headers


def test_a_request_id_is_in_the_response_the_problem_and_the_log(admin: httpx.Client, service: Service) -> None:
    answer = admin.get(f"{ROOT}/runs/{'0' * 20}", headers={"X-Request-ID": "from-the-caller.1"})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "from-the-caller.1"
    (line,) = service.lines_with("from-the-caller.1")
    assert (line["status"], line["caller"]) == (404, "first")


@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "a\tb"])
def test_an_invalid_idempotency_key_is_422(key: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/experiments", json={"shipped": "quick"}, headers={"Idempotency-Key": key})
    assert answer.status_code == 422, answer.text


def test_a_request_cannot_forge_log_lines(admin: httpx.Client, service: Service) -> None:
    forged = '/x%0a{"level":"info","caller":"admin"}%0d%1b[2J%00%e2%80%a8"\\'
    admin.get(forged, headers={"User-Agent": 'x"}'})
    admin.get(f"{ROOT}/runs", params={"experiment": 'a\n{"x": 1}'})
    assert service.lines_with("/x%0a")[0]["status"] == 404
    raw = service.log.read_bytes()
    assert b"\x1b" not in raw and b"\0" not in raw and b"\r" not in raw
    assert {"at", "level", "logger", "message"} <= set.intersection(*(set(line) for line in service.log_lines()))


def test_no_secret_is_ever_logged_or_kept(service: Service, admin: httpx.Client) -> None:
    secret = service.make_token("secretive", "read")
    with service.client(None) as page:
        session = page.post(f"{ROOT}/session", json={"token": secret})
        csrf = session.json()["csrf_token"]
        cookie = page.cookies["longhaul_session"]
        page.delete(f"{ROOT}/session", headers={"X-CSRF-Token": csrf})
    kept = b"".join(path.read_bytes() for path in service.home.glob("catalogue.sqlite*")) + service.log.read_bytes()
    for word in (secret[-43:], cookie, csrf, service.tokens["admin"][-43:]):
        assert word.encode() not in kept
    assert all(secret[-43:] not in json.dumps(row) for row in admin.get(f"{ROOT}/tokens").json())


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "text/yaml", ""]
)
def test_a_body_of_another_media_type_is_415(kind: str, admin: httpx.Client) -> None:
    for place in ("plans", "experiments", "tokens", "session"):
        headers = {"Content-Type": kind} if kind else {}
        answer = admin.post(f"{ROOT}/{place}", content=b'{"shipped": "quick"}', headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (415, PROBLEM)
    answer = admin.post(f"{ROOT}/tokens", content=b"name: x", headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 415


def test_an_unsupported_accept_header_is_406(admin: httpx.Client, service: Service) -> None:
    run = f"{ROOT}/runs/{service.run}"
    for accept in ("text/csv", "image/*", "text/event-stream"):
        assert admin.get(run, headers={"Accept": accept}).status_code == 406
    for accept in ("application/json", "application/*", "*/*", "text/csv, */*;q=0.1", "Application/JSON; q=1", ""):
        assert admin.get(run, headers={"Accept": accept}).status_code == 200
    assert admin.get(f"{run}/events", headers={"Accept": "application/json"}).status_code == 406


def test_a_made_up_cursor_is_422(admin: httpx.Client) -> None:
    for made in ("x", "_", "2031_0", "2031-05-17T09:00:00Z_' OR 1", "2031-05-17T09:00:00Z_0\0", "W10=", "9" * 10_000):
        for place in ("runs", "experiments"):
            answer = admin.get(f"{ROOT}/{place}", params={"cursor": made})
            assert answer.status_code == 422, (made, answer.text)


def test_the_body_of_a_request_without_a_token_is_not_read(service: Service) -> None:
    with service.client(None) as client:
        for body in (b"\xff", b"[" * 900_000):
            answer = client.post(f"{ROOT}/plans", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 401


def test_the_service_logged_no_errors(service: Service) -> None:
    # The service also logs the runs that tests damaged on purpose.
    faults = [
        line
        for line in service.log_lines()
        if line["level"] in ("error", "critical") and line.get("problem") != RunDamaged.kind()
    ]
    assert faults == []
