"""Watching a run over HTTP: each sample once and in order, from any position, until the run has ended; and the series to draw."""

from __future__ import annotations

import csv
import io
import itertools
import json
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow.parquet
import pytest

from longhaul.client import Client
from longhaul.orchestrator.system.errors import LonghaulError
from tests.support.service import ROOT, Service
from tests.support.terminal import run_watched
from tests.support.waiting import wait_for

Event = tuple[str, str, dict[str, Any]]
SLOW: dict[str, Any] = {
    "experiment": "slow",
    "path": {"bandwidth": "1 Gbit/s", "rtt": "20 ms"},
    "flows": [{"name": "one", "cc": "cubic"}, {"name": "two", "cc": "bbr", "start": "1 s"}],
    "duration": "500 s",
}


def events(service: Service, run: str, last: str = "") -> Iterator[Event]:
    """(kind, id, data) of each event as it arrives."""
    headers = {"Last-Event-ID": last} if last else {}
    with service.client("read") as client, client.stream("GET", f"{ROOT}/runs/{run}/live", headers=headers) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["content-type"].startswith("text/event-stream")
        known: dict[str, str] = {}
        for line in answer.iter_lines():
            if line == "" and "data" in known:
                yield known["event"], known.get("id", ""), json.loads(known["data"])
                known = {}
            elif not line.startswith(":"):
                name, _, value = line.partition(": ")
                known[name] = value


@pytest.fixture
def slow(service: Service, request: pytest.FixtureRequest) -> Iterator[str]:
    """Each test has its own run: a service watches a run for some seconds after the last reader has left."""
    name = request.node.name.replace("_", "-")[:40]
    made = service.submit({"spec": SLOW | {"experiment": name}, "priority": 5})
    yield made["runs"][0].rpartition("/")[2]
    service.cancel(made["id"])


def test_samples_arrive_during_the_run_and_continue_from_the_last_event_id(service: Service, slow: str) -> None:
    received: list[Event] = []
    for event in events(service, slow):
        received.append(event)
        if len([1 for kind, _, _ in received if kind == "samples"]) >= 8:
            break
    kinds = [kind for kind, _, _ in received]
    assert kinds[0] == "state"
    begin = next(data for kind, _, data in received if kind == "begin")
    assert begin == {"from_ms": 0, "same_again": True}
    samples = [(key, data) for kind, key, data in received if kind == "samples"]
    assert samples[0][1]["from_ms"] == 0
    for (_, before), (_, after) in itertools.pairwise(samples):
        assert before["to_ms"] == after["from_ms"]
    # A stream from the middle begins exactly there, with the same samples.
    key, middle = samples[3]
    assert key == f"v.{middle['to_ms']}"
    again = events(service, slow, key)
    rest = next(data for kind, _, data in again if kind == "samples")
    again.close()  # type: ignore[attr-defined]
    assert rest["from_ms"] == middle["to_ms"]
    first = {(one["measure"], one["of"]): one for one in samples[4][1]["series"]}
    for one in rest["series"]:
        if (one["measure"], one["of"]) in first:
            known = first[one["measure"], one["of"]]
            assert one["t_ms"][: len(known["t_ms"])] == known["t_ms"]
            assert one["value"][: len(known["value"])] == known["value"]
    assert {one["measure"] for _, data in samples for one in data["series"]} >= {"cwnd", "goodput", "rtt", "queue"}
    with service.client("read") as client:
        outline = client.get(f"{ROOT}/runs/{slow}/outline").json()
    assert (outline["duration_s"], [flow["name"] for flow in outline["flows"]]) == (500, ["one", "two"])


def test_a_viewer_ahead_of_a_new_attempt_receives_its_progress(service: Service, slow: str) -> None:
    """Like a page that watched the run before its service was killed."""
    received: list[dict[str, Any]] = []
    for kind, _, data in events(service, slow, "v.400000"):
        assert kind != "samples"
        if kind == "repeating":
            received.append(data)
        if len(received) == 3:
            break
    assert {data["attempt"] for data in received} == {1}
    reached = [data["reached_ms"] for data in received]
    assert reached == sorted(reached) and reached[-1] > reached[0], reached


def test_a_cancelled_run_ends_its_stream(service: Service) -> None:
    made = service.submit({"spec": SLOW | {"experiment": "given-up"}, "priority": 5})
    run = made["runs"][0].rpartition("/")[2]
    last = None
    for kind, _, data in events(service, run):
        last = kind, data
        if kind == "samples":
            with service.client("run") as client:
                client.post(f"{ROOT}/experiments/{made['id']}/cancel")
    assert last == ("end", {"status": "cancelled"})
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/runs/{run}/outline")
    # The part that was simulated is kept.
    assert 0 < answer.json()["partial_s"] < 500


def test_the_part_of_a_cancelled_run_is_kept_and_is_not_a_result(service: Service) -> None:
    made = service.submit({"spec": SLOW | {"experiment": "cut-off"}, "priority": 5})
    href = made["runs"][0]
    run = href.rpartition("/")[2]
    seen_ms = next(
        data["to_ms"] for kind, _, data in events(service, run) if kind == "samples" and data["to_ms"] > 2000
    )
    with service.client("run") as client:
        client.post(f"{ROOT}/experiments/{made['id']}/cancel")
        while (row := client.get(href).json())["status"] == "running":
            time.sleep(0.05)
        assert (row["status"], row["partial"]) == ("cancelled", True)
        reached_s = row["document"]["partial"]["reached_s"]
        assert seen_ms / 1000 <= reached_s < 500
        assert client.get(f"{href}/outline").json()["partial_s"] == reached_s
        series = client.get(f"{href}/timelines").json()["series"]
        assert {"cwnd", "goodput", "queue"} <= {one["measure"] for one in series}
        # No series continues after the end of the part.
        assert max(one["t_s"][-1] for one in series) <= reached_s
        first_tag = client.get(f"{href}/timelines").headers["etag"]
        assert client.get(f"{href}/files/flows.csv").content.count(b"\n") > 10
        assert "run.flent.gz" not in client.get(f"{href}/files").json()
        assert client.get(f"{href}/files/run.flent.gz").status_code == 404
        # The part has no measures and no comparison and is not in the result of its experiment.
        assert client.get(f"{href}/distributions?measure=rtt").status_code == 404
        compared = client.get(f"{ROOT}/comparisons", params={"a": run, "b": service.run})
        assert (compared.status_code, "is not a result" in compared.json()["detail"]) == (404, True)
        assert client.get(f"{ROOT}/experiments/{made['id']}/summary").json()["runs"] == []
        (listed,) = client.get(f"{ROOT}/runs", params={"text": run}).json()["items"]
        assert listed["partial"] is True
        # A new submission runs it from its start, which deletes the part.
        again = service.submit({"spec": SLOW | {"experiment": "cut-off"}, "priority": 5})
        assert again["runs"] == [href]
        assert client.get(href).json()["partial"] is False
        wait_for(lambda: not list((service.home / "partial").glob(f"??/{run}")))
        wait_for(
            lambda: any(
                row["run"] == run and row["progress_s"] > 1 for row in client.get(f"{ROOT}/queue").json()["running"]
            )
        )
        client.post(f"{ROOT}/experiments/{again['id']}/cancel")
        while (row := client.get(href).json())["status"] == "running":
            time.sleep(0.05)
        assert client.get(f"{href}/timelines").headers["etag"] != first_tag
        assert client.delete(href).status_code == 204
        assert client.get(f"{href}/outline").status_code == 404
        assert not list((service.home / "partial").glob(f"??/{run}"))


def test_a_run_submitted_during_its_cancellation_runs(service: Service) -> None:
    body = {"spec": SLOW | {"experiment": "wanted-again"}, "priority": 5}
    made = service.submit(body)
    run = made["runs"][0].rpartition("/")[2]
    with service.client("run") as client:
        # The guest ends some time after each cancellation: before, during or after the next submission.
        for pause_s in (0.0, 0.03, 0.06, 0.1, 0.2):
            assert "samples" in (kind for kind, _, _ in events(service, run))
            client.post(f"{ROOT}/experiments/{made['id']}/cancel")
            time.sleep(pause_s)
            made = service.submit(body)
            assert made["runs"] == [f"{ROOT}/runs/{run}"]
            # By then the cancelled guest has ended.
            time.sleep(1)
            found = client.get(f"{ROOT}/experiments/{made['id']}").json()
            assert found["progress"]["cancelled"] == 0, (pause_s, found)
        client.post(f"{ROOT}/experiments/{made['id']}/cancel")
    assert service.wait(made["id"])["progress"]["cancelled"] == 1


def test_the_stream_of_a_kept_run_has_only_its_state_and_its_end(service: Service) -> None:
    assert [(kind, data) for kind, _, data in events(service, service.run)] == [
        ("state", {"state": "done"}),
        ("end", {"status": "done"}),
    ]


@pytest.mark.parametrize("last", ["17", "v.x", "../x.1", "v.1.1.1", "-"])
def test_an_invalid_position_is_422(service: Service, last: str) -> None:
    with service.client("read") as client:
        assert client.get(f"{ROOT}/runs/{service.run}/live", headers={"Last-Event-ID": last}).status_code == 422


def decode_series(content: bytes) -> dict[tuple[str, str], tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]]:
    (length,) = struct.unpack("<I", content[:4])
    at, found = 4 + length, {}
    assert at % 8 == 0
    for row in json.loads(content[4:at])["series"]:
        size = row["count"] * 8
        t_s, values = (np.frombuffer(content[at + place * size :], "<f8", row["count"]) for place in (0, 1))
        found[row["measure"], row["of"]] = (t_s, values)
        at += 2 * size
    assert at == len(content)
    return found


def test_many_series_equal_the_single_ones_in_json_and_as_floats(service: Service) -> None:
    params = {"measure": ["cwnd", "rtt", "queue"], "from": "1", "to": "3", "points": "100"}
    with service.client("read") as client:
        place = f"{ROOT}/runs/{service.run}"
        whole = client.get(f"{place}/timelines", params=params)
        floats = client.get(f"{place}/timelines", params=params, headers={"Accept": "application/octet-stream"})
        assert floats.headers["content-type"] == "application/octet-stream"
        numbers = decode_series(floats.content)
        assert [one["measure"] for one in whole.json()["series"]] == params["measure"]
        for one in whole.json()["series"]:
            of = {one["kind"]: one["of"]}
            alone = client.get(f"{place}/series", params={**params, **of, "measure": one["measure"]}).json()
            for name in ("unit", "of_values", "t_s", "value"):
                assert one[name] == alone[name], name
            t_s, values = numbers[one["measure"], one["of"]]
            assert np.allclose(t_s, one["t_s"], atol=1e-9) and values.tolist() == one["value"]
        again = client.get(f"{place}/timelines", params=params, headers={"If-None-Match": whole.headers["etag"]})
        other = client.get(
            f"{place}/timelines",
            params=params,
            headers={"If-None-Match": whole.headers["etag"], "Accept": "application/octet-stream"},
        )
    assert (again.status_code, other.status_code) == (304, 200)


def test_an_unknown_series_is_404_with_the_known_ones(service: Service) -> None:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/runs/{service.run}/timelines", params={"measure": "speed"})
    assert answer.status_code == 404
    assert "cwnd" in answer.json()["hint"]


def test_the_values_of_an_experiment_are_those_of_its_runs(service: Service) -> None:
    with service.client("read") as client:
        found = client.get(f"{ROOT}/experiments/{service.experiment}/values", params={"flow": "app"}).json()
        document = client.get(f"{ROOT}/runs/{service.run}").json()["document"]
        nothing = client.get(f"{ROOT}/experiments/{service.experiment}/values", params={"measure": "speed"}).json()
    (value,) = found["values"]
    assert value["value"] == document["flows"][0]["goodput_bps"]
    assert {"flow": None, "measure": "jain"} in found["measures"]
    assert nothing["values"][0]["value"] is None


def test_the_values_of_an_ended_experiment_have_a_tag(service: Service) -> None:
    place = f"{ROOT}/experiments/{service.experiment}/values"
    with service.client("read") as client:
        first = client.get(place, params={"flow": "app"})
        tag = {"If-None-Match": first.headers["etag"]}
        again, other = (client.get(place, params={"flow": flow}, headers=tag) for flow in ("app", ""))
    assert (again.status_code, other.status_code) == (304, 200)


def test_the_points_of_an_experiment_are_one_table(service: Service, tmp_path: Path) -> None:
    place = f"{ROOT}/experiments/{service.experiment}/points"
    with service.client("read") as client:
        parquet, text = client.get(place), client.get(place, params={"format": "csv"})
        again = client.get(place, headers={"If-None-Match": parquet.headers["etag"]})
        refused = client.get(place, params={"format": "xml"})
        document = client.get(f"{ROOT}/runs/{service.run}").json()["document"]
    assert (parquet.status_code, text.status_code, again.status_code, refused.status_code) == (200, 200, 304, 422)
    assert parquet.headers["content-disposition"].endswith(f'{service.experiment}.parquet"')
    table = pyarrow.parquet.read_table(io.BytesIO(parquet.content)).to_pylist()
    lines = list(csv.DictReader(io.StringIO(text.text)))
    assert [row["run"] for row in table] == [row["run"] for row in lines] == [service.run]
    assert table[0]["goodput_bps"] == float(lines[0]["goodput_bps"]) == document["flows"][0]["goodput_bps"]
    assert table[0]["path_utilisation"] == document["path"]["utilisation"]
    with Client(service.url, service.tokens["read"]) as reader:
        file = reader.points(service.experiment, tmp_path / "points.csv")
        assert file.read_text() == text.text
        with pytest.raises(LonghaulError):
            reader.points(service.experiment, tmp_path / "points.xml")
    assert not (tmp_path / "points.xml").exists()


def test_a_pin_invalidates_the_etag_of_a_run(service: Service) -> None:
    place = f"{ROOT}/runs/{service.run}"
    with service.client("run") as client:
        before = client.get(place)
        client.put(f"{place}/pin")
        after = client.get(place, headers={"If-None-Match": before.headers["etag"]})
        client.delete(f"{place}/pin")
    assert (before.json()["pinned"], after.status_code, after.json()["pinned"]) == (False, 200, True)
    assert before.json()["experiments"][-1] == service.experiment


def test_watching_needs_a_token(service: Service) -> None:
    for part in ("live", "outline", "timelines", "distributions?measure=rtt"):
        assert httpx.get(f"{service.url}{ROOT}/runs/{service.run}/{part}").status_code == 401


def test_the_client_gives_the_samples_of_the_stream(service: Service, slow: str) -> None:
    with Client(service.url, service.tokens["read"]) as client:
        received = list(itertools.islice((one for one in client.watch(slow) if one.kind == "samples"), 5))
    assert received[0].data["from_ms"] == 0
    for before, after in itertools.pairwise(received):
        assert before.data["to_ms"] == after.data["from_ms"]
    assert {one["of"] for event in received for one in event.data["series"]} >= {"one", "bottleneck"}


def test_a_terminal_shows_the_charts_of_a_run_on_the_service(service: Service, tmp_path: Path) -> None:
    times = run_watched(tmp_path, "--server", service.url, LONGHAUL_TOKEN=service.tokens["run"])
    assert len(times) >= 2
    assert 0 < times[0] < times[-1] <= 60
