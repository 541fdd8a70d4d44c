"""Hostile bodies: huge and deep YAML and JSON, invalid text, numbers out of range, bodies above the limit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from longhaul.api.http.middleware import MOST_BODY_BYTES
from tests.api.hostile import BASE, PROBLEM
from tests.support.service import ROOT

pytestmark = pytest.mark.usefixtures("still_ready")

YAML = "experiment: yaml\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms}\nflows: [{name: one, cc: cubic}]\nduration: 1 s\n"


def test_an_experiment_as_yaml_is_the_same_as_in_json(admin: httpx.Client) -> None:
    for kind in ("application/yaml", "application/yaml; charset=utf-8"):
        written = admin.post(f"{ROOT}/plans", content=YAML, headers={"Content-Type": kind})
        assert written.status_code == 200, written.text
    json_plan = admin.post(f"{ROOT}/plans", json={"spec": BASE | {"experiment": "yaml"}})
    assert written.json() == json_plan.json()


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{new}: &{new} [{','.join([f'*{old}'] * 9)}]\n" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
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
        ('about: "\\0"', "control characters"),
        ('"\\e[31m": x', "control characters"),
        ("just words", "mapping"),
        ("--- a\n--- b", "a text has one experiment"),
        ("%YAML 9.9\n---\na: b", "not readable here"),
        ("a: b: c", "begins inside a value"),
        ("", "body"),
    ],
)
def test_hostile_yaml_is_refused(text: str, reason: str, admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", content=text, headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 422, answer.text
    assert reason in answer.text


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
def test_hostile_json_is_400(body: str, admin: httpx.Client) -> None:
    for place in ("plans", "experiments", "tokens", "session"):
        answer = admin.post(f"{ROOT}/{place}", content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.headers["content-type"]) == (400, PROBLEM), answer.text


@pytest.mark.parametrize(
    "content", [b"\xff\xfe{}", b'{"shipped": "\xc3\x28"}', b'{"shipped": "\xed\xa0\x80"}', b"\x00", b"\x1f\x8b\x08\x00"]
)
def test_a_body_that_is_not_utf_8_is_400(content: bytes, admin: httpx.Client) -> None:
    for kind in ("application/json", "application/yaml"):
        answer = admin.post(f"{ROOT}/plans", content=content, headers={"Content-Type": kind})
        assert answer.status_code in (400, 422), answer.text


@pytest.mark.parametrize("text", ["\0", "a\0b", "\x1b[31m", "\ud800", "\udfff\ud800", "\uffff", "\x7f"])
def test_control_characters_and_surrogates_are_refused_everywhere(text: str, admin: httpx.Client) -> None:
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


@pytest.mark.parametrize("text", ["\x9b2J", "a\u202eb", "\u2066"])
def test_bidirectional_and_c1_controls_are_refused_in_experiments_only(text: str, admin: httpx.Client) -> None:
    """The published pattern of other texts allows them."""
    host = admin.get(f"{ROOT}/hosts").json()[0]["id"]
    refused: list[dict[str, Any]] = [
        {"spec": BASE | {"about": text}},
        {"spec": BASE | {text: 1}},
        BASE | {"about": text},
        {"shipped": "quick", "set": [f'about="{text}"']},
    ]
    for body in refused:
        answer = admin.post(f"{ROOT}/plans", json=body)
        assert (answer.status_code, answer.headers["content-type"]) == (422, PROBLEM), (body, answer.text)
    lease = admin.post(f"{ROOT}/hosts/{host}/lease", json={"seconds": 1, "about": text})
    assert lease.status_code in (200, 201, 409), lease.text
    assert admin.post(f"{ROOT}/session", json={"token": text}).status_code == 401


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
def test_numbers_and_lists_out_of_range_are_refused(fields: dict[str, Any], admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/plans", json={"spec": BASE | fields})
    assert answer.status_code in (422, 429), answer.text[:300]
    assert len(answer.text) < 100_000


def test_more_runs_than_the_queue_takes_are_not_compiled(admin: httpx.Client) -> None:
    for body in ({"shipped": "sweep-1000", "repeats": 100_000}, {"spec": BASE, "repeats": 100_000}):
        assert admin.post(f"{ROOT}/plans", json=body).status_code == 429


def test_a_body_above_the_limit_is_413_whole_or_chunked(admin: httpx.Client) -> None:
    content = b'{"spec": "' + b"x" * MOST_BODY_BYTES + b'"}'
    headers = {"Content-Type": "application/json"}

    def pieces() -> Iterator[bytes]:
        for begin in range(0, len(content), 50_000):
            yield content[begin : begin + 50_000]

    for body in (content, pieces()):
        answer = admin.post(f"{ROOT}/plans", content=body, headers=headers)
        assert (answer.status_code, answer.headers["content-type"]) == (413, PROBLEM)
