"""The requests of the page while a user writes an experiment: previews, mistakes with their fields, the schema, files, backends."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from longhaul.api.schemas.experiments import QUICK
from longhaul.orchestrator.spec.load import load_experiment, shipped_experiments
from longhaul.orchestrator.spec.model import Experiment
from tests.support.service import ROOT, Service

Json = dict[str, Any]


def _preview(service: Service, body: Json) -> tuple[int, Json]:
    with service.client("read") as client:
        answer = client.post(f"{ROOT}/plans/preview", json=body)
    return answer.status_code, answer.json()


def test_a_preview_has_numbers_a_drawing_and_the_count_of_kept_runs(service: Service) -> None:
    status, found = _preview(service, {"shipped": "quick"})
    assert status == 200
    assert (found["runs"], found["points"], found["kept"], found["missing"]) == (1, 1, 1, [])
    assert found["numbers"]["bdp_packets"] == round(10e6 * 0.04 / 8 / 1514)
    assert [link["name"] for link in found["drawing"]["links"] if link["bottleneck"]] == ["s1-b1"]
    assert found["drawing"]["flows"][0]["way"] == ["a1", "s1", "b1"]
    other, found = _preview(service, {"shipped": "quick", "set": ["path.rtt=41 ms"]})
    assert (other, found["kept"]) == (200, 0)


def test_a_preview_agrees_with_the_plan(service: Service) -> None:
    body = {"spec": QUICK | {"sweep": {"path.rtt": ["10 ms", "20 ms"]}}, "repeats": 2}
    _, found = _preview(service, body)
    with service.client("read") as client:
        plan = client.post(f"{ROOT}/plans", json=body).json()
    assert {name: found[name] for name in ("experiment", "runs", "lint", "wall_estimate_s")} == {
        name: plan[name] for name in ("experiment", "runs", "lint", "wall_estimate_s")
    }
    assert found["fields"] == {"path.rtt": ["10 ms", "20 ms"]}
    assert found["numbers"]["bdp_packets"] == plan["first"]["meaning"]["bdp_packets"]


def test_every_mistake_has_its_field_the_value_and_the_nearest_valid_one(service: Service) -> None:
    wrong = QUICK | {"duration": "5", "flows": [{"name": "one", "cc": "cubik"}]}
    status, found = _preview(service, {"spec": wrong})
    assert status == 422
    assert len(found["fields"]) == len(found["problems"]) == 2
    duration, field = found["fields"]
    assert (duration["location"], duration["nearest"], duration["misnamed"]) == (["duration"], "5 s", False)
    assert (field["location"], field["field"], field["nearest"]) == (["flows", 0, "cc"], "flows.one.cc", "cubic")
    assert (field["read"], field["what"].startswith("allowed: one of")) == ('"cubik"', True)


@pytest.mark.parametrize("body", [{}, {"shipped": "quik"}, {"spec": QUICK, "where": "host"}])
def test_a_mistake_without_a_field_has_no_location(body: Json, service: Service) -> None:
    status, found = _preview(service, body)
    assert (status, found.get("fields", [])) == (422, [])
    assert found["detail"]


def test_a_sweep_above_the_limit_of_the_queue_is_refused_and_a_large_one_is_sampled(service: Service) -> None:
    rates = [f"{rate} Mbit/s" for rate in range(1, 101)]
    sweep = {"path.rtt": [f"{rtt} ms" for rtt in range(1, 101)], "path.bandwidth": rates}
    status, found = _preview(service, {"spec": QUICK | {"sweep": sweep}})
    assert (status, found["points"], found["kept"]) == (200, 10_000, None)
    assert len(found["resolved"]) < 100
    status, found = _preview(service, {"spec": QUICK | {"sweep": sweep, "repeats": 3}})
    assert (status, "may wait" in found["what"]) == (429, True)


def test_places_list_their_missing_pieces(service: Service) -> None:
    with service.client("read") as client:
        rows = client.get(f"{ROOT}/catalogue/places").json()
        debug = client.get(f"{ROOT}/catalogue/places", params={"kernel": "6.12-debug"}).json()
    assert {(row["backend"], row["where"], row["clock"]) for row in rows} == {
        ("sandbox", "guest", "virtual"), ("mininet", "guest", "virtual"), ("mininet", "guest", "real"), ("mininet", "host", "real"),
        ("hosts", "hosts", "real"),
    }  # fmt: skip
    assert rows[0]["missing"] == []
    for row in debug[:1]:
        assert all("6.12-debug" in one["piece"] and one["remedy"].startswith("run ") for one in row["missing"])


def test_the_schema_has_every_field_its_values_and_its_quantities(service: Service) -> None:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/catalogue/schema")
        again = client.get(f"{ROOT}/catalogue/schema", headers={"If-None-Match": answer.headers["etag"]})
    schema = answer.json()
    assert again.status_code == 304
    assert set(schema["properties"]) == set(Experiment.model_fields)
    parts = schema["$defs"]
    assert parts["Flow"]["properties"]["cc"]["x-catalogue"] == "modules"
    assert "droptail" in parts["Path"]["properties"]["queue"]["enum"]
    rate = parts["Path"]["properties"]["bandwidth"]["anyOf"][0]
    assert (rate["x-quantity"], rate["type"]) == ("rate", "string")
    for part in (schema, *parts.values()):
        assert all(field.get("description") for field in part["properties"].values()), part["title"]


@pytest.mark.parametrize("name", ["quick", "demo", *list(shipped_experiments())[:2]])
def test_a_shipped_file_is_returned_unchanged(name: str, service: Service) -> None:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/catalogue/experiments/file", params={"name": name})
    assert answer.headers["content-type"].startswith("text/plain")
    assert yaml.safe_load(answer.text)["experiment"] == load_experiment(name).experiment
    assert answer.text == shipped_experiments()[name].read_text()


@pytest.mark.parametrize("name", ["quik", "../pyproject", "", "/etc/passwd"])
def test_other_files_are_404(name: str, service: Service) -> None:
    with service.client("read") as client:
        answer = client.get(f"{ROOT}/catalogue/experiments/file", params={"name": name})
    assert answer.status_code == 404
    assert "not a shipped experiment" in answer.json()["what"]
