"""The annotations of a run in Grafana, which no run waits for: against a server with POST /api/annotations."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from longhaul.orchestrator.live.grafana_annotations import Mark, Teller, end_of, start_of
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.settings import Grafana
from tests.support.listener import Recorder, listening

BEGIN_MS = 1_700_000_000_000
RUN_ID = "0123456789abcdef0123"
OF_RUN = [f"run:{RUN_ID}", "experiment:path-change", "backend:sandbox"]


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


@pytest.fixture
def grafana(recorder: Recorder) -> Iterator[Grafana]:
    with listening(recorder) as found:
        yield found


@pytest.fixture(scope="module")
def run() -> Run:
    return compile_plan(load_experiment("path-change")).runs[0]


def test_known_documents_of_a_run(run: Run) -> None:
    end_ms = BEGIN_MS + 60_000
    assert start_of(run, RUN_ID, BEGIN_MS).as_json() == {
        "time": BEGIN_MS,
        "tags": ["longhaul", "start", *OF_RUN],
        "text": "path-change seed 1 starts",
    }
    assert [mark.as_json() for mark in end_of(run, RUN_ID, BEGIN_MS, end_ms, "done")] == [
        {"time": BEGIN_MS + at_ms, "tags": ["longhaul", "change", *OF_RUN], "text": f"path-change seed 1: {text}"}
        for at_ms, text in (
            (15_000, "20 Mbit/s"),
            (30_000, "delay 50 ms, reverse delay 60 ms"),
            (45_000, "losses in bursts"),
        )
    ] + [
        {
            "time": end_ms,
            "tags": ["longhaul", "end", *OF_RUN, "status:done"],
            "text": "path-change seed 1 ends: done",
        }
    ]


def test_changes_after_a_runs_end_are_not_sent(run: Run) -> None:
    marks = end_of(run, RUN_ID, BEGIN_MS, BEGIN_MS + 20_000, "failed")
    assert [mark.time_ms - BEGIN_MS for mark in marks] == [15_000, 20_000]


def test_a_text_links_to_the_service_and_has_no_other_html() -> None:
    experiment = load_experiment("quick", ["experiment=a-b"])
    run = compile_plan(experiment).runs[0]
    text = start_of(run, RUN_ID, 0, "https://lab.example/a&b").text
    assert text == f'<a href="https://lab.example/a&amp;b/#/runs/{RUN_ID}">a-b seed 1</a> starts'


def test_marks_are_posted_in_the_apis_format_and_in_order(grafana: Grafana, recorder: Recorder) -> None:
    teller = Teller(grafana)
    marks = [Mark(BEGIN_MS + number, f"mark {number}", ("longhaul", "x")) for number in range(5)]
    teller.tell(marks[:3])
    teller.tell(marks[3:])
    recorder.wait(5)
    teller.close()
    assert [body for _, _, body in recorder.requests] == [mark.as_json() for mark in marks]
    for path, headers, _ in recorder.requests:
        assert path == "/api/annotations"
        assert headers["Authorization"] == "Bearer glsa_secret"
        assert headers["Content-Type"] == "application/json"


def test_a_temporary_failure_is_tried_again(grafana: Grafana, recorder: Recorder) -> None:
    recorder.answers = [503, 429, 200]
    teller = Teller(grafana, (0.01, 0.01, 0.01))
    teller.tell([Mark(1, "first", ()), Mark(2, "second", ())])
    recorder.wait(4)
    teller.close()
    assert [body["text"] for _, _, body in recorder.requests] == ["first", "first", "first", "second"]


@pytest.mark.parametrize(("status", "times"), [(401, 1), (403, 1), (400, 1), (500, 3)])
def test_a_refused_mark_is_dropped_silently(
    status: int,
    times: int,
    grafana: Grafana,
    recorder: Recorder,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    recorder.answers = [status] * times + [200]
    teller = Teller(grafana, (0.01, 0.01))
    with caplog.at_level(logging.INFO, "longhaul.grafana"):
        teller.tell([Mark(1, "first", ()), Mark(2, "second", ())])
        recorder.wait(times + 1)
        teller.close()
    assert [body["text"] for _, _, body in recorder.requests] == ["first"] * times + ["second"]
    assert [(record.levelname, f"it responded {status}" in record.message) for record in caplog.records] == [
        ("INFO", True)
    ]
    assert "glsa_secret" not in caplog.text + str(grafana)
    assert capfd.readouterr().err == ""


def test_no_run_waits_for_a_grafana_that_does_not_respond(grafana: Grafana, recorder: Recorder) -> None:
    recorder.respond.clear()
    teller = Teller(grafana)
    teller.tell([Mark(1, "first", ())])
    recorder.wait(1)
    # The server has the first request and does not respond: `tell` and `close` return all the same.
    teller.tell([Mark(2, "second", ())])
    teller.close()
    assert [body["text"] for _, _, body in recorder.requests] == ["first"]


def test_a_missing_grafana_has_no_effect(capfd: pytest.CaptureFixture[str]) -> None:
    teller = Teller(Grafana("http://127.0.0.1:1", "glsa_secret"), (0.01,))
    teller.tell([Mark(1, "first", ())])
    teller.close()
    assert capfd.readouterr().err == ""
