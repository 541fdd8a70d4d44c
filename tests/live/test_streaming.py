"""Runs stream to a real Prometheus while they go on: all of it, in order, never in the future, whoever carries them out."""

from __future__ import annotations

import threading
import time
from typing import Any

from orchestrator.backends import open_backend
from orchestrator.live.beside import open_live
from orchestrator.pipeline import Pipeline, Watcher
from orchestrator.plan import Plan, compile_plan
from orchestrator.results.spans import Spans
from orchestrator.results.store import Store
from orchestrator.settings import Settings
from tests.guest.conftest import experiment
from tests.live.conftest import expected
from tests.live.prometheus import PrometheusServer

CWND = "longhaul_flow_cwnd_packets"
FOUR = [{"name": f"flow{number}", "cc": "cubic"} for number in range(4)]

Document = dict[str, Any]


def carry_out(lab: Settings, plan: Plan, watcher: Watcher | None = None) -> list[Document]:
    """As `longhaul run` does."""
    store = Store(lab)
    live = open_live(lab, store)
    assert live is not None
    with live:
        pipeline = Pipeline(open_backend(plan.runs[0].backend, lab), store, live=live, watcher=watcher or Watcher())
        return pipeline.execute(plan)


def all_is_there(lab: Settings, prometheus: PrometheusServer, document: Document) -> None:
    """Count, values and times of every series, compared bit by bit with what the stored trace comes to."""
    placed = document["prometheus"]
    wanted, count = expected(Store(lab), document["run"])
    found = prometheus.stored(document["run"], placed["begin_ms"], placed["end_ms"] + placed["resolution_ms"])
    assert found.keys() == wanted.keys()
    for labels, samples in wanted.items():
        assert [at for at, _ in found[labels]] == [at for at, _ in samples], dict(labels)
        assert found[labels] == samples, dict(labels)
    assert (placed["samples"], placed["waiting"], placed["refused"]) == (count, 0, 0)


def test_sixty_seconds_of_four_flows_outlive_a_kill_of_prometheus(lab: Settings, prometheus: PrometheusServer) -> None:
    """A minute of virtual time: killed after the first samples are there, and back while the run goes on or after it."""
    plan = compile_plan(experiment(flows=FOUR, duration="60 s", path={"bandwidth": "50 Mbit/s"}))
    killed = threading.Event()
    reached: list[int] = []

    def at(index: int, virtual_ns: int) -> None:
        reached.append(virtual_ns)
        if virtual_ns > 10e9 and not killed.is_set():
            killed.set()
            prometheus.kill()
            threading.Timer(1.0, prometheus.start).start()

    (document,) = carry_out(lab, plan, Watcher(progress=at))
    assert killed.is_set()
    assert document["status"] == "done"
    # What waited when that process's work was over is sent by whoever comes next, here by nobody but an exporter.
    store = Store(lab)
    until_s = time.monotonic() + 60
    while list((lab.home / "spool").glob("*/*.rw")):
        live = open_live(lab, store)
        assert live is not None
        time.sleep(0.5)
        live.exporter.close()
        assert time.monotonic() < until_s
    document = store.get(document["run"])
    document["prometheus"] |= {"waiting": 0}
    all_is_there(lab, prometheus, document)


def test_what_a_guest_writes_is_there_within_two_seconds(lab: Settings, prometheus: PrometheusServer) -> None:
    """In the sandbox: as long as the run goes on, what it had written two seconds ago is in Prometheus."""
    plan = compile_plan(
        experiment(
            flows=[*FOUR, *({"name": f"more{n}", "cc": "reno"} for n in range(4))],
            duration="400 s",
            path={"bandwidth": "100 Mbit/s"},
        )
    )
    spans = Spans(Store(lab).database)
    written: list[tuple[float, int]] = []
    run_id: list[str] = []
    late: list[float] = []

    def at(index: int, virtual_ns: int) -> None:
        now_s = time.monotonic()
        written.append((now_s, virtual_ns))
        if not run_id:
            run_id.extend(folder.name.split("-")[0] for folder in (lab.home / "staging").glob("*/*-*"))
        if run_id and (span := spans.of(run_id[0])) is not None:
            found = prometheus.query(f'max(max_over_time(timestamp({CWND}{{run="{run_id[0]}"}})[500s:1s]))')
            there_ns = (float(found[0]["value"][1]) * 1000 - span.begin_ms) * 1e6 if found else -1.0
            # When that much had been written: everything that was written two seconds before now must be there.
            late.append(
                min((now_s - at_s for at_s, ns in written if ns - 1.5e9 > there_ns), default=0.0, key=lambda age: -age)
            )

    (document,) = carry_out(lab, plan, Watcher(progress=at))
    assert document["status"] == "done"
    assert len(late) >= 5
    assert max(late) < 2.0
    all_is_there(lab, prometheus, document)


def test_by_the_real_clock_the_newest_sample_is_young(lab: Settings, prometheus: PrometheusServer) -> None:
    plan = compile_plan(experiment(duration="10 s", path={"bandwidth": "10 Mbit/s"}), backend="mininet", clock="real")
    ages_s: list[float] = []
    run_id: list[str] = []

    def at(index: int, virtual_ns: int) -> None:
        if virtual_ns < 2e9:
            return
        if not run_id:
            run_id.extend(folder.name.split("-")[0] for folder in (lab.home / "staging").glob("*/*-*"))
        newest_s = prometheus.newest_s(run_id[0], CWND)
        ages_s.append(time.time() - newest_s)

    (document,) = carry_out(lab, plan, Watcher(progress=at))
    assert document["status"] in ("done", "missed"), document
    assert len(ages_s) > 10
    assert max(ages_s) < 2.0
    assert min(ages_s) > 0
    all_is_there(lab, prometheus, document)
    # Where it lies is when it was.
    span = Spans(Store(lab).database).of(document["run"])
    assert span is not None
    assert (span.begin_ms, span.end_ms) == (document["prometheus"]["begin_ms"], document["prometheus"]["end_ms"] + 10)


def test_runs_one_after_the_other_do_not_overlap_and_none_lies_in_the_future(
    lab: Settings, prometheus: PrometheusServer
) -> None:
    begun_ms = time.time() * 1000
    plan = compile_plan(experiment(duration="30 s"), repeats=4)
    documents = carry_out(lab, plan)
    spans = sorted((one["prometheus"]["begin_ms"], one["prometheus"]["end_ms"]) for one in documents)
    for (_, end_ms), (begin_ms, _) in zip(spans, spans[1:], strict=False):
        assert end_ms < begin_ms
    assert spans[-1][1] < begun_ms + 60_000
    assert spans[-1][1] < time.time() * 1000
    for document in documents:
        all_is_there(lab, prometheus, document)
    # Each series ends where its run ends: nothing goes on until the next.
    for document in documents:
        after_s = document["prometheus"]["end_ms"] / 1000 + 0.5
        assert prometheus.query(f'{{run="{document["run"]}"}}', at_s=after_s) == []
        assert prometheus.query(f'{CWND}{{run="{document["run"]}"}}', at_s=after_s - 0.6) != []
