"""The API reference has an example of everything, declares every problem, and keeps its earlier promises."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.contract.compatibility import breaks
from tests.support.operations import document, documented
from tests.support.programs import run_program

REPOSITORY = Path(__file__).resolve().parents[2]
KEPT = "docs/openapi.json"
Json = dict[str, Any]
PLANS, RUNS, RUN = "/api/v1/plans", "/api/v1/runs", "/api/v1/runs/{id}"


def _git(*words: str) -> str:
    return run_program(["git", *words], cwd=REPOSITORY, check=True).stdout.strip()


def _earlier() -> dict[str, Json]:
    """The references before this one: the last commit's, its parents', and that of the merge base with the main branch.

    A shallow clone has only the last commit's, which shows only uncommitted changes; the workflow fetches all.
    """
    found = {}
    for name in ("HEAD", "HEAD^1", "HEAD^2", "main", "origin/main"):
        known = run_program(["git", "rev-parse", "--verify", "--quiet", name], cwd=REPOSITORY)
        if known.returncode:
            continue
        commit = _git("merge-base", "HEAD", known.stdout.strip())
        if _git("ls-tree", commit, KEPT):
            found[commit] = json.loads(_git("show", f"{commit}:{KEPT}"))
    return found


def test_earlier_promises_are_kept() -> None:
    earlier = _earlier()
    assert earlier, "there is no commit with a reference to compare with"
    for commit, old in earlier.items():
        assert breaks(old, document()) == [], f"since {commit}: put it under another major path, or keep it"


def test_everything_has_an_example() -> None:
    for operation in documented():
        for one in operation.openapi.get("parameters", []):
            assert "example" in one and one.get("description"), (operation.name, one["name"])
        if "requestBody" in operation.openapi:
            assert all(media for media, _ in operation.bodies), operation.name
        assert operation.openapi["summary"] and operation.openapi["description"], operation.name


def test_every_problem_is_declared_as_one() -> None:
    for operation in documented():
        for status, answer in operation.openapi["responses"].items():
            if status >= "4":
                assert list(answer["content"]) == ["application/problem+json"], (operation.name, status)
                assert answer["content"]["application/problem+json"]["schema"]["$ref"].endswith("/Problem")
        assert {"429", "500", "503"} <= set(operation.openapi["responses"])


def test_an_operations_own_description_of_a_problem_is_in_the_reference() -> None:
    responses = document()["paths"][RUN]["delete"]["responses"]
    assert (
        responses["409"]["description"]
        == "It is running or pinned, or belongs to an experiment that is running or a baseline."
    )
    assert responses["404"]["description"] == "Not found."


def test_the_same_and_more_is_no_break() -> None:
    old, new = document(), copy.deepcopy(document())
    assert breaks(old, old) == []
    new["paths"]["/api/v1/new"] = {"get": {"operationId": "new", "responses": {"200": {"description": ""}}}}
    new["paths"][RUNS]["get"]["parameters"].append({"in": "query", "name": "more", "schema": {"type": "string"}})
    schemas = new["components"]["schemas"]
    schemas["AskedFor"]["properties"]["more"] = {"type": "string"}
    schemas["AskedFor"]["properties"]["priority"]["maximum"] = 20
    schemas["Run"]["properties"]["more"] = {"type": "string"}
    schemas["Run"]["required"].append("more")
    schemas["NewToken"]["properties"]["scope"]["enum"].append("more")
    new["paths"][PLANS]["post"]["requestBody"]["content"]["text/yaml"] = {"schema": {"type": "string"}}
    assert breaks(old, new) == []


def _drop(*way: str) -> Callable[[Json], None]:
    def change(new: Json) -> None:
        place: Any = new
        for key in way[:-1]:
            place = place[key]
        if isinstance(place, list):
            place.remove(way[-1])
        else:
            del place[way[-1]]

    return change


def _put(value: object, *way: str) -> Callable[[Json], None]:
    def change(new: Json) -> None:
        place: Any = new
        for key in way[:-1]:
            place = place.setdefault(key, {})
        place[way[-1]] = value

    return change


def _parameter(change: Callable[[Json], None]) -> Callable[[Json], None]:
    def changed(new: Json) -> None:
        change(next(one for one in new["paths"][RUNS]["get"]["parameters"] if one["name"] == "limit"))

    return changed


def _lose_parameter(new: Json) -> None:
    listed = new["paths"][RUNS]["get"]["parameters"]
    listed[:] = [one for one in listed if one["name"] != "sort"]


def _need_parameter(new: Json) -> None:
    new["paths"][RUNS]["get"]["parameters"].append(
        {"in": "query", "name": "who", "required": True, "schema": {"type": "string"}}
    )


SCHEMAS = ("components", "schemas")
BREAKING: list[tuple[Callable[[Json], None], str]] = [
    (_drop("paths", RUN), "GET /api/v1/runs/{id}: it is gone"),
    (_drop("paths", PLANS, "post"), "POST /api/v1/plans: it is gone"),
    (_put("admin", "paths", RUN, "get", "x-scope"), "needs the scope admin"),
    (_lose_parameter, "parameter sort: it is gone"),
    (_need_parameter, "parameter who: it is new and required"),
    (_parameter(lambda one: one.update(required=True)), "parameter limit: it is required"),
    (_parameter(lambda one: one["schema"].update(maximum=100)), "parameter limit: maximum is 100"),
    (_parameter(lambda one: one["schema"].update(minimum=10)), "parameter limit: minimum is 10"),
    (_parameter(lambda one: one["schema"].update(type="string")), "parameter limit: it takes no integer"),
    (_drop("paths", PLANS, "post", "requestBody", "content", "application/yaml"), "not read as application/yaml"),
    (_drop(*SCHEMAS, "AskedFor", "properties", "seed"), "body.seed: it is gone"),
    (_put(["spec"], *SCHEMAS, "AskedFor", "required"), "body.spec: it is required"),
    (_put({"type": "string"}, *SCHEMAS, "AskedFor", "properties", "seed"), "body.seed: it takes no"),
    (_put(["read"], *SCHEMAS, "NewToken", "properties", "scope", "enum"), "body.scope: run, gate, admin is not taken"),
    (_put("^x$", *SCHEMAS, "NewToken", "properties", "name", "pattern"), "body.name: it has to match"),
    (_put(5, *SCHEMAS, "AskedFor", "properties", "set", "maxItems"), "body.set: maxItems is 5"),
    (_drop(*SCHEMAS, "Run", "properties", "status"), "its answer.status: it is gone"),
    (_drop(*SCHEMAS, "Run", "required", "status"), "its answer.status: it is not always there"),
    (_put({"type": "integer"}, *SCHEMAS, "Run", "properties", "kernel"), "its answer.kernel: it may be integer"),
    (
        _put({"anyOf": [{"type": "string"}, {"type": "null"}]}, *SCHEMAS, "Run", "properties", "kernel"),
        "it may be null",
    ),
    (_drop(*SCHEMAS, "RunRow", "properties", "seed"), "its answer.items[].seed: it is gone"),
    (_drop("paths", RUN, "get", "responses", "200"), "it does not answer 200"),
    (_put({}, "paths", RUN, "get", "responses", "200", "content"), "not to be had as application/json"),
]


@pytest.mark.parametrize(("change", "sentence"), BREAKING, ids=[sentence for _, sentence in BREAKING])
def test_removals_and_restrictions_are_breaks(change: Callable[[Json], None], sentence: str) -> None:
    new = copy.deepcopy(document())
    change(new)
    assert any(sentence in one for one in breaks(document(), new)), breaks(document(), new)


def test_another_major_path_may_be_anything() -> None:
    new = copy.deepcopy(document())
    new["paths"] = {path.replace("/v1", "/v2"): item for path, item in new["paths"].items() if path != RUN}
    assert breaks(document(), new) == []
    assert breaks(new, document()) != [], "there is no way back"
