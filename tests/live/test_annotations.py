"""Grafana gets annotations for runs that go to Prometheus, at the times of their samples; a Grafana that is away changes nothing."""

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
from tests.support.listener import Recorder, listening

SERVICE = "http://lab.example:8080"
SCHEDULE = [{"at": "1 s", "path": {"bandwidth": "50 Mbit/s"}}]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def annotated(lab: Settings, recorder: Recorder) -> Iterator[Settings]:
    """A lab that sends annotations to a listening server."""
    with listening(recorder) as grafana:
        yield replace(lab, grafana=grafana, url=SERVICE)


def run_plan(lab: Settings, plan: Plan, watcher: Watcher | None = None) -> Any:
    store = Store(lab)
    live = open_live(lab, store)
    assert live is not None
    with live:
        backend = open_backend(plan.runs[0].backend, lab)
        (document,) = Pipeline(backend, store, live=live, watcher=watcher or Watcher()).execute(plan)
    return document


@pytest.mark.parametrize("where", [{}, {"backend": "mininet", "where": "guest", "clock": "real"}])
def test_a_run_is_annotated_at_its_times(annotated: Settings, recorder: Recorder, where: dict[str, Any]) -> None:
    plan = compile_plan(experiment(duration="3 s", schedule=SCHEDULE, path={"bandwidth": "20 Mbit/s"}), **where)
    document = run_plan(annotated, plan)
    # In real time a busy machine may refuse the run's numbers; its begin and end are annotated all the same.
    assert document["status"] == "done" or (where and document["error"]["error"] == "FidelityBroken"), document
    span, (run,) = Spans(Store(annotated).database).of(document["run"]), plan.runs
    assert span is not None
    end = end_of(run, document["run"], span.begin_ms, span.begin_ms + 3000, document["status"], SERVICE)
    marks = [start_of(run, document["run"], span.begin_ms, SERVICE), *end]
    recorder.wait(len(marks))
    assert [body for _, _, body in recorder.requests] == [mark.as_json() for mark in marks]
    assert [mark.time_ms - span.begin_ms for mark in marks] == [0, 1000, 3000]
    assert marks[-1].text.endswith(f"ends: {document['status']}")


def test_a_cancelled_run_is_annotated_at_its_real_end(annotated: Settings, recorder: Recorder) -> None:
    plan = compile_plan(experiment(duration="400 s", schedule=[{"at": "399 s", "path": {"bandwidth": "50 Mbit/s"}}]))

    def at(index: int, virtual_ns: int) -> None:
        if virtual_ns > 5e9:
            raise RunCancelled("running", "it", "cancelled")

    document = run_plan(annotated, plan, Watcher(progress=at))
    assert document["error"]["what"] == "cancelled"
    recorder.wait(2)
    start, end = (body for _, _, body in recorder.requests)
    assert "status:cancelled" in end["tags"]
    assert 0 < end["time"] - start["time"] < 399_000


@pytest.mark.parametrize("away", ["refuses", "fails", "is not there"])
def test_a_grafana_that_does_not_take_it_changes_nothing(
    lab: Settings, annotated: Settings, recorder: Recorder, away: str
) -> None:
    recorder.answers = [401 if away == "refuses" else 500]
    if away == "is not there":
        annotated = replace(annotated, grafana=Grafana("http://127.0.0.1:1", "glsa_secret"))
    document = run_plan(annotated, compile_plan(experiment(duration="2 s", schedule=SCHEDULE)))
    assert document["status"] == "done"
    assert (document["prometheus"]["waiting"], document["prometheus"]["refused"]) == (0, 0)


def test_without_a_token_nothing_is_annotated(lab: Settings, annotated: Settings, recorder: Recorder) -> None:
    assert annotated.grafana is not None
    silent = replace(annotated, grafana=replace(annotated.grafana, token=""))
    assert run_plan(silent, compile_plan(experiment(duration="2 s", schedule=SCHEDULE)))["status"] == "done"
    assert recorder.requests == []
