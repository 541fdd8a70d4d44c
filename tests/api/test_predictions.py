"""Predictions over REST: asked until they are done, read by others, and the same as the command line's."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from longhaul.client import Client
from tests.support.command import longhaul
from tests.support.service import ROOT, Service

# No path of another test and of no example, as the first test needs runs that no other test has made.
ASKED: dict[str, Any] = {
    "size": "100 MB",
    "path": "24 Mbit/s, 20 ms, buffer 1 BDP",
    "streams": [1],
    "cc": ["cubic", "reno"],
}


def test_rounds_are_asked_for_until_the_intervals_are_known(service: Service) -> None:
    query = ASKED | {"streams": "1", "cc": "cubic,reno"}
    with service.client("read") as reader, Client(service.url, service.tokens["run"]) as client:
        before = reader.get(f"{ROOT}/predictions", params=query).json()
        assert (before["status"], before["rows"]) == ("not run", [])
        found = client.predict(ASKED["size"], ASKED["path"], streams=ASKED["streams"], cc=ASKED["cc"], poll_s=0.2)
        assert {row["cc"] for row in found.rows} == {"cubic", "reno"}
        for row in found.rows:
            assert row["low_s"] <= row["seconds"] <= row["high_s"]
            assert found["least_s"] <= row["seconds"] < 1.05 * found["least_s"]
            assert client.run(row["runs"][0]).status == "done"
        after = reader.get(f"{ROOT}/predictions", params=query).json()
        assert after["status"] == "done"
        assert after["rows"] == [json.loads(json.dumps(row)) for row in found.rows]
    # The same lab answers its command line from the same runs.
    done = longhaul(
        "predict", "--size", ASKED["size"], "--path", ASKED["path"], "--streams", "1", "--cc", "cubic,reno", "--json", home=service.home
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == found.rows


def test_a_measured_path_may_be_asked_about(service: Service) -> None:
    measured = {
        "rate_bps": 20_000_000,
        "least_rtt_us": 20_000,
        "queue_us": 20_000,
        "loss": 0.0,
        "jitter_us": 0,
        "burst": None,
    }
    with service.client("run") as client:
        answer = client.post(f"{ROOT}/predictions", json=ASKED | {"path": measured})
    assert answer.status_code == 200, answer.text
    assert answer.json()["path"] == {"bandwidth": "20 Mbit/s", "rtt": "20 ms", "buffer": "20 ms"}


@pytest.mark.parametrize(
    ("asked", "status", "part"),
    [
        ({"size": "2"}, 422, "needs its unit"),
        ({"path": "1 Gbit/s"}, 422, "no rtt"),
        ({"path": {"bandwidth": "1 Gbit/s", "rtt": "10 ms", "recording": {"file": "x"}}}, 422, "no such field"),
        ({"path": "20 Mbit/s, 20 ms, loss 2"}, 422, "loss"),
        ({"cc": ["cubbic"]}, 422, "nearest: cubic"),
        ({"streams": [0]}, 422, "streams"),
        ({"streams": list(range(1, 26))}, 422, "streams"),
        ({"within": 0}, 422, "within"),
    ],
)
def test_what_cannot_be_predicted_is_refused(service: Service, asked: dict[str, Any], status: int, part: str) -> None:
    with service.client("run") as client:
        answer = client.post(f"{ROOT}/predictions", json=ASKED | asked)
    assert answer.status_code == status, answer.text
    assert part in answer.text


def test_readers_submit_nothing(service: Service) -> None:
    with service.client("read") as client:
        assert client.post(f"{ROOT}/predictions", json=ASKED).status_code == 403


def test_too_many_candidates_are_counted(admin: httpx.Client) -> None:
    answer = admin.post(f"{ROOT}/predictions", json=ASKED | {"streams": list(range(1, 14))})
    assert "26 candidates" in answer.text
