"""Titles, tags and comments over REST, from the client and on the command line."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longhaul.client import Client
from tests.support.command import longhaul
from tests.support.service import ROOT, Service

WORDS: dict[str, Any] = {"title": "Überlast nach 日本", "tags": ["night shift"], "comment": "as on\nMonday"}


def test_an_experiment_is_submitted_found_and_changed_with_its_words(service: Service) -> None:
    with Client(service.url, service.tokens["run"]) as client:
        # A run that no other test annotates.
        made = client.submit("quick", set=["path.rtt=41 ms"], **WORDS)
        assert (made.title, made.tags, made.comment) == tuple(WORDS.values())
        client.wait(made.id)
        run = made.runs[0].rpartition("/")[2]
        assert [one.id for one in client.experiments(tag="Night Shift")] == [made.id]
        assert [one.title for one in client.experiments(text="überlast")] == [WORDS["title"]]
        assert [one.id for one in client.runs(tag="night shift")] == [run]
        client.annotate(made.id, title="Anew")
        client.annotate(run, tags=["kept"], comment="of the run")
        assert (client.experiment(made.id).title, client.experiment(made.id).tags) == ("Anew", WORDS["tags"])
        one = client.run(run)
        assert (one.title, one.tags, one.comment) == ("", ["kept"], "of the run")
        assert client.tags(500).items() >= {"kept": 1, "night shift": 1}.items()
        client.annotate(run, tags=[], comment="")
        assert client.run(run).comment == ""


def test_the_tag_of_an_answer_changes_with_the_words_of_a_run(service: Service) -> None:
    with service.client("run") as http:
        address = f"{ROOT}/runs/{service.run}"
        before = http.get(address).headers["etag"]
        with service.client("admin") as admin:
            assert admin.patch(address, json={"title": "one"}).status_code == 204
            assert http.get(address, headers={"If-None-Match": before}).status_code == 200
            assert admin.patch(address, json={"title": ""}).status_code == 204


@pytest.mark.parametrize(
    "wanted", [{"title": "x" * 201}, {"tags": ["x"] * 21}, {"tags": ["x" * 51]}, {"comment": "x" * 10_001}, {"title": "\0"}, {"name": "x"}]
)  # fmt: skip
def test_what_is_too_long_or_unknown_is_refused(service: Service, wanted: dict[str, Any]) -> None:
    with service.client("admin") as http:
        assert http.patch(f"{ROOT}/experiments/{service.experiment}", json=wanted).status_code == 422
        assert http.patch(f"{ROOT}/runs/{service.run}", json=wanted).status_code == 422


def test_only_the_owner_and_admins_annotate(service: Service) -> None:
    other = service.make_token("other", "run")
    with service.as_token(other) as http:
        assert http.patch(f"{ROOT}/experiments/{service.experiment}", json={"title": "mine"}).status_code == 403
        assert http.patch(f"{ROOT}/runs/{service.run}", json={"title": "mine"}).status_code == 403
    with service.client("read") as http:
        assert http.patch(f"{ROOT}/runs/{service.run}", json={"title": "mine"}).status_code == 403
        assert http.patch(f"{ROOT}/runs/{'0' * 20}", json={"title": "mine"}).status_code == 403
    with service.client("admin") as http:
        assert http.patch(f"{ROOT}/runs/{'0' * 20}", json={"title": "mine"}).status_code == 404


def test_the_command_line_annotates(service: Service) -> None:
    ended = service.wait(service.submit({"shipped": "quick", "set": ["path.rtt=42 ms"]})["id"])
    run = ended["runs"][0].rpartition("/")[2]
    done = longhaul("annotate", run[:12], "--tag", "from here", "--title", "Von hier", "--json", home=service.home)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [{"id": run, "title": "Von hier", "tags": ["from here"], "comment": ""}]
    listed = longhaul("list", "runs", "--find", "tag=from-here", home=service.home).stdout
    assert "Von hier" in listed
    assert "from here" in listed
    done = longhaul("annotate", ended["id"], "--comment", "of all", "--untag", "none", home=service.home)
    assert (done.returncode, "of all" in done.stdout) == (0, True)
    done = longhaul("annotate", run, "--untag", "FROM  here", "--title", "", "--json", home=service.home)
    assert json.loads(done.stdout)[0]["tags"] == []
    done = longhaul("annotate", "0" * 20, "--title", "x", home=service.home)
    assert (done.returncode, "no kept run" in done.stderr) == (2, True)
    done = longhaul("annotate", run, "--title", "x" * 201, home=service.home)
    assert (done.returncode, "at most 200 characters" in " ".join(done.stderr.split())) == (2, True)


def test_a_run_on_this_machine_gets_its_words_and_is_not_run_for_words_that_are_refused(service: Service) -> None:
    changes = (
        "--set",
        "path.rtt=43 ms",
        "--set",
        "duration=1 s",
        "--set",
        "warmup=0 s",
        "--set",
        "expect=[]",
        "--json",
    )
    done = longhaul("run", "quick", *changes, "--title", "x" * 201, home=service.home)
    assert (done.returncode, "at most 200 characters" in " ".join(done.stderr.split())) == (2, True)
    assert "rtt=43ms" not in longhaul("list", "runs", "--find", "rtt=43ms", home=service.home).stdout
    for tag in ("one", "two"):
        done = longhaul("run", "quick", *changes, "--title", "Here", "--tag", tag, home=service.home)
        assert done.returncode == 0, done.stderr
    run = json.loads(done.stdout)["runs"][0]["run"]
    shown = json.loads(longhaul("annotate", run, "--json", home=service.home).stdout)
    assert shown == [{"id": run, "title": "Here", "tags": ["one", "two"], "comment": ""}]
