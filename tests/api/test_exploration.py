"""Exploring a sweep and a run over REST: the same numbers as the functions give, parts of a run, and refusals."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.support.service import ROOT, Service


@pytest.fixture(scope="module")
def sweep(service: Service) -> dict[str, Any]:
    """Two round-trip times, two seeds."""
    asked: dict[str, Any] = {
        "shipped": "quick",
        "set": ["duration=3 s", "sweep={path.rtt: [20 ms, 60 ms]}"],
        "repeats": 2,
    }
    return service.wait(service.submit(asked)["id"])


def test_importance_points_and_bands_are_those_of_the_runs(
    service: Service, admin: httpx.Client, sweep: dict[str, Any]
) -> None:
    where = f"{ROOT}/experiments/{sweep['id']}"
    rows = admin.get(f"{where}/values", params={"measure": "goodput_bps", "flow": "app"}).json()["values"]
    found = admin.get(f"{where}/importance", params={"measure": "goodput_bps", "flow": "app"}).json()
    assert [one["fields"] for one in found["fields"]] == [["path.rtt"]]
    assert (found["runs"], found["points"], found["missing"]) == (4, 2, 0)
    total = found["fields"][0]["share"] + found["interactions"] + found["noise"]
    assert total == pytest.approx(1)
    points = admin.get(f"{where}/point-values", params={"of": ["goodput_bps@app", "utilisation"]}).json()
    for one in points["points"]:
        values = [row["value"] for row in rows if row["point"] == one["point"]]
        assert one["values"][0]["value"] == pytest.approx(sum(values) / 2)
        assert one["values"][0]["low"] <= one["values"][0]["value"] <= one["values"][0]["high"]
        assert one["runs"] == [row["run"] for row in rows if row["point"] == one["point"]]
    last = rows[-1]["run"]
    band = admin.get(f"{where}/bands", params={"measure": "cwnd", "flow": "app", "run": last, "points": 20}).json()
    assert (band["point"], len(band["t_s"]), band["of"]) == (rows[-1]["point"], 20, "app")
    assert (last in band["runs"], set(band["count"])) == (True, {0, 2})
    # Before the flow has begun, there is nothing.
    rows = list(zip(band["low"], band["mean"], band["high"], band["count"], strict=True))
    assert all(low <= mean <= high for low, mean, high, count in rows if count)
    assert rows[0] == (None, None, None, 0)


def test_a_part_of_a_run_is_explored_alone(service: Service, admin: httpx.Client) -> None:
    where = f"{ROOT}/runs/{service.run}"
    part: dict[str, Any] = {"flow": "app", "from": 2, "to": 4}
    pairs = admin.get(f"{where}/phase", params={**part, "x": "queue"}).json()
    assert 2 <= min(pairs["t_s"]) <= max(pairs["t_s"]) <= 4
    assert (pairs["x_unit"], pairs["link"]) == ("packets", "bottleneck")
    states = admin.get(f"{where}/states", params=part).json()
    assert sum(states["tcp"]["seconds"].values()) == pytest.approx(2)
    queue = admin.get(f"{where}/occupancy", params={"from": 2, "to": 4, "columns": 10, "rows": 5}).json()
    assert [len(queue["edges_s"]), len(queue["shares"])] == [11, 10]
    assert all(sum(column) == pytest.approx(1) for column in queue["shares"])
    diagram = admin.get(f"{where}/sequence", params=part).json()
    assert (diagram["captured"], diagram["packets"]) == (False, None)
    trace = diagram["trace"]
    assert all(sent >= acked for sent, acked in zip(trace["sent_bytes"], trace["acked_bytes"], strict=True))
    assert trace["acked_bytes"] == sorted(trace["acked_bytes"])


def test_moments_are_paged_filtered_and_written_as_csv(service: Service, admin: httpx.Client) -> None:
    where = f"{ROOT}/runs/{service.run}/moments"
    whole = admin.get(where, params={"limit": 5000}).json()
    second = admin.get(where, params={"skip": 2, "limit": 3}).json()
    assert (second["skipped"], second["moments"]) == (2, whole["moments"][2:5])
    last = whole["moments"][-1]["t_s"]
    near = admin.get(where, params={"near": last, "limit": 2}).json()
    assert near["moments"] == whole["moments"][-2:]
    of_app = admin.get(where, params={"of": "app", "limit": 5000}).json()
    assert 0 < of_app["total"] <= whole["total"]
    assert {one["of"] for one in of_app["moments"]} <= {"app", "bottleneck"}
    lines = admin.get(where, params={"format": "csv", "limit": 1})
    assert lines.headers["content-type"].startswith("text/csv")
    assert len(lines.text.splitlines()) == whole["total"] + 1


@pytest.mark.parametrize(
    ("path", "what"),
    [
        ("runs/{run}/phase?flow=app&x=cwmd", "known: cwnd"),
        ("runs/{run}/states?flow=unknown", "known: app"),
        ("runs/{run}/sequence?flow=unknown", "known: app"),
        ("runs/{run}/occupancy?link=nowhere", "known: bottleneck"),
        ("runs/{run}/moments?of=unknown", "known: app"),
        ("experiments/{experiment}/bands?measure=cwmd&flow=app", "known: cwnd"),
        ("experiments/{experiment}/bands?run=00000000000000000000", "has no such kept run"),
    ],
)
def test_an_unknown_name_is_not_found(service: Service, admin: httpx.Client, path: str, what: str) -> None:
    answer = admin.get(f"{ROOT}/{path.format(run=service.run, experiment=service.experiment)}")
    assert answer.status_code == 404
    assert what in answer.text
