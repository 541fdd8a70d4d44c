"""Grafana hears of runs that go to Prometheus, at the times where they lie there; a Grafana that is away changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.prometheus_spans import Spans
from longhaul.orchestrator.execution.pipeline import Pipeline, Watcher
from longhaul.orchestrator.live.grafana_annotations import end_of, start_of
from longhaul.orchestrator.live.run_export import open_live
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import RunCancelled
from longhaul.orchestrator.system.settings import Grafana, Settings
from tests.support.guests import experiment
from tests.support.listener import Heard, listening

SERVICE = "http://lab.example:8080"
SCHEDULE = [{"at": "1 s", "path": {"bandwidth": "50 Mbit/s"}}]


@pytest.fixture
def heard() -> Heard:
    found = Heard()
    found.go_on.set()
    return found


@pytest.fixture
def annotated(lab: Settings, heard: Heard) -> Iterator[Settings]:
    """A lab that tells its runs to somebody who listens."""
    with listening(heard) as grafana:
        yield replace(lab, grafana=grafana, url=SERVICE)


def carry_out(lab: Settings, plan: Plan, watcher: Watcher | None = None) -> Any:
    store = Store(lab)
    live = open_live(lab, store)
    assert live is not None
    with live:
        backend = open_backend(plan.runs[0].backend, lab)
        (document,) = Pipeline(backend, store, live=live, watcher=watcher or Watcher()).execute(plan)
    return document


@pytest.mark.parametrize("where", [{}, {"backend": "mininet", "where": "guest", "clock": "real"}])
def test_a_run_is_told_where_it_lies(annotated: Settings, heard: Heard, where: dict[str, Any]) -> None:
    plan = compile_plan(experiment(duration="3 s", schedule=SCHEDULE, path={"bandwidth": "20 Mbit/s"}), **where)
    document = carry_out(annotated, plan)
    # By the real clock a busy machine may refuse the run's numbers; where it was and that it ended is told all the same.
    assert document["status"] == "done" or (where and document["error"]["error"] == "FidelityBroken"), document
    span, (run,) = Spans(Store(annotated).database).of(document["run"]), plan.runs
    assert span is not None
    told = end_of(run, document["run"], span.begin_ms, span.begin_ms + 3000, document["status"], SERVICE)
    marks = [start_of(run, document["run"], span.begin_ms, SERVICE), *told]
    heard.wait(len(marks))
    assert [body for _, _, body in heard.asked] == [mark.as_json() for mark in marks]
    assert [mark.time_ms - span.begin_ms for mark in marks] == [0, 1000, 3000]
    assert marks[-1].text.endswith(f"ends: {document['status']}")


def test_a_run_that_is_cancelled_is_told_to_have_ended_where_it_came_to(annotated: Settings, heard: Heard) -> None:
    plan = compile_plan(experiment(duration="400 s", schedule=[{"at": "399 s", "path": {"bandwidth": "50 Mbit/s"}}]))

    def at(index: int, virtual_ns: int) -> None:
        if virtual_ns > 5e9:
            raise RunCancelled("running", "it", "cancelled")

    document = carry_out(annotated, plan, Watcher(progress=at))
    assert document["error"]["what"] == "cancelled"
    heard.wait(2)
    start, end = (body for _, _, body in heard.asked)
    assert "status:cancelled" in end["tags"]
    assert 0 < end["time"] - start["time"] < 399_000


@pytest.mark.parametrize("away", ["refuses", "fails", "is not there"])
def test_a_grafana_that_does_not_take_it_changes_nothing(
    lab: Settings, annotated: Settings, heard: Heard, away: str
) -> None:
    heard.answers = [401 if away == "refuses" else 500]
    if away == "is not there":
        annotated = replace(annotated, grafana=Grafana("http://127.0.0.1:1", "glsa_secret"))
    document = carry_out(annotated, compile_plan(experiment(duration="2 s", schedule=SCHEDULE)))
    assert document["status"] == "done"
    assert (document["prometheus"]["waiting"], document["prometheus"]["refused"]) == (0, 0)


def test_without_a_token_nobody_is_told(lab: Settings, annotated: Settings, heard: Heard) -> None:
    assert annotated.grafana is not None
    silent = replace(annotated, grafana=replace(annotated.grafana, token=""))
    assert carry_out(silent, compile_plan(experiment(duration="2 s", schedule=SCHEDULE)))["status"] == "done"
    assert heard.asked == []
