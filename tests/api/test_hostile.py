"""What a stranger might send: paths that lead elsewhere, programs in experiments, bodies made to hurt, headers made to lie."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from api.middleware import MOST_BODY_BYTES
from tests.api.operations import Operation, documented, ids_of
from tests.api.serving import ROOT, Service

PROBLEM = "application/problem+json"
BASE: dict[str, Any] = {
    "experiment": "hostile",
    "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "one", "cc": "cubic"}],
    "duration": "1 s",
}
YAML = "experiment: yaml\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms}\nflows: [{name: one, cc: cubic}]\nduration: 1 s\n"
ELSEWHERE = [
    "../../../../etc/passwd", "..", "....//etc/passwd", "/etc/passwd", "~root", "file:///etc/passwd", "catalogue.sqlite",
    "..%2f..%2fetc%2fpasswd", "..\\..\\etc", "x\0.json", "C:\\", "%2e%2e/%2e%2e", "a/../../b", "'; DROP TABLE runs; --", "\u202e", "é",
]  # fmt: skip


@pytest.fixture(scope="module")
def admin(service: Service) -> Iterator[httpx.Client]:
    with service.client() as client:
        yield client


@pytest.fixture(autouse=True)
def _still_well(admin: httpx.Client) -> Iterator[None]:
    """Whatever was sent, the service goes on."""
    yield
    assert admin.get("/readyz").status_code == 200


def parameters() -> list[tuple[Operation, str]]:
    """Every text that goes into a path or a query."""
    return [
        (operation, one["name"])
        for operation in documented()
        for one in operation.said.get("parameters", [])
        if one["in"] in ("path", "query")
    ]


@pytest.mark.parametrize(("operation", "name"), parameters(), ids=lambda one: getattr(one, "name", one))
def test_no_parameter_leads_anywhere_else(
    operation: Operation, name: str, service: Service, admin: httpx.Client
) -> None:
    (where,) = [one["in"] for one in operation.said["parameters"] if one["name"] == name]
    request = operation.request(admin, ids_of(service) | {"experiments.id": "0" * 16, "runs.id": "0" * 20})
    for text in ELSEWHERE:
        if where == "path":
            path = operation.path.replace(f"{{{name}}}", quote(text, safe=""))
            sent = admin.build_request(operation.method, path.replace("{name}", "x").replace("{id}", "0" * 16))
            if "content-type" in request.headers:
                sent = admin.build_request(operation.method, sent.url, content=request.content, headers=request.headers)
        else:
            sent = admin.build_request(operation.method, request.url.copy_merge_params({name: text}))
        answer = admin.send(sent)
        # A word that might be a name finds nothing.
        nothing = answer.status_code == 200 and answer.json()["items"] == []
        assert nothing or 400 <= answer.status_code < 500, (text, answer.status_code)
        assert nothing or answer.headers["content-type"] == PROBLEM
        assert "root:x" not in answer.text and str(service.home) not in answer.text


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
    # It was refused for what it names, not for what was found there.
    assert "tcp_<name>.c" not in found["detail"] and "root:" not in found["detail"]
    assert str(Path.cwd()) not in found["detail"] and str(service.home) not in found["detail"]
    if not {"flows", "path", "experiment", "kernel"} & set(fields):
        assert any(said in found["detail"] for said in ("comes with the lab", "may differ in", "were sent here")), found


@pytest.mark.parametrize(
    "change",
    ["topology=/etc/lab.py:Lab", "modules=[/etc]", "sweep=[{modules: [/etc]}]"],
)
def test_no_change_of_a_shipped_experiment_does_either(change: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", json={"shipped": "quick", "set": [change]})
    assert answer.status_code == 422
    assert any(said in answer.json()["detail"] for said in ("comes with the lab", "were sent here"))


@pytest.mark.parametrize("name", ["../quick", "/etc/passwd", "quick.yaml", "./quick", "", "apptcp/../quick"])
def test_a_shipped_name_is_no_path(name: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", json={"shipped": name})
    assert answer.status_code == 422, answer.text


def test_an_experiment_as_yaml_is_the_same_as_in_json(admin: httpx.Client) -> None:
    for kind in ("application/yaml", "application/yaml; charset=utf-8"):
        written = admin.post(f"{ROOT}/plans", content=YAML, headers={"Content-Type": kind})
        assert written.status_code == 200, written.text
    said = admin.post(f"{ROOT}/plans", json={"spec": BASE | {"experiment": "yaml"}})
    assert written.json() == said.json()


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BOMB, "anchors"),
        ("a: &a [*a]", "anchors"),
        ("x: !!python/object/apply:os.system [id]", "tags"),
        ("x: !<tag:yaml.org,2002:binary> aGk=", "tags"),
        ("[" * 120_000, "deep"),
        ("{a: " * 50_000, "deep"),
        ("- " * 100_000 + "x", "deep"),
        ("? " * 100_000 + "x", "deep"),
        ("a: b\n" * 60_000, "larger"),
        ("a: 1\na: 2", "twice"),
        ('about: "\\0"', "text"),
        ('"\\e[31m": x', "text"),
        ("just words", "mapping"),
        ("--- a\n--- b", "YAML"),
        ("%YAML 9.9\n---\na: b", "YAML"),
        ("a: b: c", "YAML"),
        ("", "body"),
    ],
)
def test_yaml_made_to_hurt_is_refused(text: str, said: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", content=text, headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 422, answer.text
    assert said in answer.text


def nested(depth: int, opening: str, closing: str) -> str:
    return '{"spec": ' + opening * depth + "1" + closing * depth + "}"


@pytest.mark.parametrize(
    "body",
    [
        nested(400_000, "[", "]"),
        nested(150_000, '{"a":', "}"),
        nested(100, "[", "]"),
        "[" * 900_000,
        '{"spec": {"seed": NaN}}',
        '{"spec": {"seed": Infinity}}',
        '{"spec": {"seed": ' + "9" * 10_000 + "}}",
        '{"spec": {}, "spec": {}}',
        '{"spec": {"a": 1, "a": 2}}',
        '{"shipped": "quick"',
        "\ufeff{}",
    ],
    ids=lambda body: body[:24],
)
def test_json_made_to_hurt_is_400(body: str, admin: httpx.Client) -> None:
    for place in ("plans", "experiments", "tokens", "session"):
        answer = admin.post(f"{ROOT}/{place}", content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM), answer.text


@pytest.mark.parametrize(
    "content", [b"\xff\xfe{}", b'{"shipped": "\xc3\x28"}', b'{"shipped": "\xed\xa0\x80"}', b"\x00", b"\x1f\x8b\x08\x00"]
)
def test_what_is_not_utf_8_is_400(content: bytes, admin: httpx.Client) -> None:
    for kind in ("application/json", "application/yaml"):
        answer = admin.post(f"{ROOT}/plans", content=content, headers={"Content-Type": kind})
        assert answer.status_code in (400, 422), answer.text


@pytest.mark.parametrize("text", ["\0", "a\0b", "\x1b[31m", "\ud800", "\udfff\ud800", "\uffff", "\x7f"])
def test_text_that_is_no_text_is_refused_everywhere(text: str, admin: httpx.Client) -> None:
    host = admin.get(f"{ROOT}/hosts").json()[0]["id"]
    bodies: dict[str, dict[str, Any]] = {
        "plans": {"spec": BASE | {"about": text}},
        "experiments": {"spec": BASE | {text: 1}},
        "tokens": {"name": text, "scope": "read"},
        "session": {"token": text},
        f"hosts/{host}/lease": {"seconds": 1, "about": text},
    }
    for place, body in bodies.items():
        content = json.dumps(body)
        answer = admin.post(f"{ROOT}/{place}", content=content, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM), (place, answer.text)
    if text < "\ud800":
        changed = admin.post(f"{ROOT}/plans", json={"shipped": "quick", "set": [f'about="{text}"']})
        assert changed.status_code == 422


@pytest.mark.parametrize(
    "fields",
    [
        {"seed": 10**30},
        {"seed": -1},
        {"duration": "1e400 s"},
        {"duration": f"{'9' * 50_000} s"},
        {"repeats": 10**18},
        {"flows": [{"name": "one", "cc": "cubic", "count": 10**12}]},
        {"flows": [{"name": f"f{number}", "cc": "cubic", "count": 1000} for number in range(1000)]},
        {"path": {"bandwidth": f"1{'0' * 300} bit/s", "rtt": "40 ms"}},
        {"sweep": {"path.rtt": [f"{number} ms" for number in range(1, 15_000)], "seed": list(range(20))}},
        {"sweep": {"path.rtt": ["1 ms"] * 25_000}},
        {"sweep": [{"path.rtt": "1 ms"}] * 15_000},
        {"expect": [{"measure": "x" * 1000}] * 1000},
        {f"unknown{number}": number for number in range(9_000)},
        {"about": "x" * 300_000},
    ],
    ids=lambda fields: f"{next(iter(fields))}",
)
def test_numbers_without_end_are_refused_soon(fields: dict[str, Any], admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", json={"spec": BASE | fields})
    assert answer.status_code in (422, 429), answer.text[:300]
    assert len(answer.text) < 100_000


def test_more_runs_than_may_wait_are_not_compiled(admin: httpx.Client) -> None:
    for asked in ({"shipped": "sweep-1000", "repeats": 100_000}, {"spec": BASE, "repeats": 100_000}):
        assert admin.post(f"{ROOT}/plans", json=asked).status_code == 429


def test_a_body_beyond_the_limit_is_413_however_it_comes(admin: httpx.Client) -> None:
    content = b'{"spec": "' + b"x" * MOST_BODY_BYTES + b'"}'
    headers = {"Content-Type": "application/json"}

    def pieces() -> Iterator[bytes]:
        for begin in range(0, len(content), 50_000):
            yield content[begin : begin + 50_000]

    for body in (content, pieces()):
        answer = admin.post(f"{ROOT}/plans", content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (413, PROBLEM)


def test_the_length_that_is_said_counts_before_a_byte_is_read(service: Service) -> None:
    token = service.tokens["run"]
    for length in (str(MOST_BODY_BYTES + 1), "9" * 18):
        head = f"POST {ROOT}/plans HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Length: {length}\r\n\r\n"
        assert b" 413 " in _said(service, head.encode()).partition(b"\r\n")[0]


def _said(service: Service, sent: bytes) -> bytes:
    """What the service answers to these bytes, until it stops or nothing comes for a moment."""
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


def test_a_head_without_end_ends_the_connection(service: Service) -> None:
    for sent in (
        b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000,
        b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 40_000,
        b"GET /" + b"x" * 200_000,
    ):
        assert _said(service, sent)[:12] in (b"", b"HTTP/1.1 431", b"HTTP/1.1 400")


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
def test_what_is_no_http_is_400_or_harmless(head: str, service: Service) -> None:
    answer = _said(service, head.encode("latin-1") + b"\r\n")
    assert answer[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 200"), answer
    assert b"\r\n b" not in answer


@pytest.mark.parametrize("made_up", ["a\tb", "x" * 65, "a;b", "<script>", "{}", "a b", "%0d%0aSet-Cookie:x=y"])
def test_a_request_id_that_is_none_is_replaced(made_up: str, admin: httpx.Client) -> None:
    answer = admin.get("/healthz", headers={"X-Request-ID": made_up})
    assert answer.headers["x-request-id"] not in (made_up, "")
    assert "set-cookie" not in answer.headers


def test_a_request_id_goes_through_answer_problem_and_log(admin: httpx.Client, service: Service) -> None:
    answer = admin.get(f"{ROOT}/runs/{'0' * 20}", headers={"X-Request-ID": "from-the-caller.1"})
    assert answer.headers["x-request-id"] == answer.json()["request_id"] == "from-the-caller.1"
    (line,) = service.lines_with("from-the-caller.1")
    assert (line["status"], line["caller"]) == (404, "first")


@pytest.mark.parametrize("key", ["", "a b", "x" * 129, "a\tb"])
def test_an_idempotency_key_that_is_none_is_422(key: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/experiments", json={"shipped": "quick"}, headers={"Idempotency-Key": key})
    assert answer.status_code == 422, answer.text


def test_a_log_line_is_one_document_whatever_was_asked(admin: httpx.Client, service: Service) -> None:
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
def test_another_kind_of_body_is_415(kind: str, admin: httpx.Client) -> None:
    for place in ("plans", "experiments", "tokens", "session"):
        headers = {"Content-Type": kind} if kind else {}
        answer = admin.post(f"{ROOT}/{place}", content=b'{"shipped": "quick"}', headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (415, PROBLEM)
    answer = admin.post(f"{ROOT}/tokens", content=b"name: x", headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 415


def test_a_form_of_answer_that_is_not_to_be_had_is_406(admin: httpx.Client, service: Service) -> None:
    run = f"{ROOT}/runs/{service.run}"
    for accept in ("text/csv", "image/*", "text/event-stream"):
        assert admin.get(run, headers={"Accept": accept}).status_code == 406
    for accept in ("application/json", "application/*", "*/*", "text/csv, */*;q=0.1", "Application/JSON; q=1", ""):
        assert admin.get(run, headers={"Accept": accept}).status_code == 200
    assert admin.get(f"{run}/events", headers={"Accept": "application/json"}).status_code == 406


def test_a_cursor_that_was_made_up_is_422(admin: httpx.Client) -> None:
    for made in ("x", "_", "2031_0", "2031-05-17T09:00:00Z_' OR 1", "2031-05-17T09:00:00Z_0\0", "W10=", "9" * 10_000):
        for place in ("runs", "experiments"):
            answer = admin.get(f"{ROOT}/{place}", params={"cursor": made})
            assert answer.status_code == 422, (made, answer.text)


def test_what_nobody_may_do_is_not_even_read(service: Service) -> None:
    with service.client(None) as client:
        for body in (b"\xff", b"[" * 900_000):
            answer = client.post(f"{ROOT}/plans", content=body, headers={"Content-Type": "application/json"})
            assert answer.status_code == 401


def test_nothing_was_found_outside_of_the_home(service: Service) -> None:
    faults = [line for line in service.log_lines() if line["level"] in ("error", "critical")]
    assert faults == []
    assert Path("/etc/passwd").exists()
