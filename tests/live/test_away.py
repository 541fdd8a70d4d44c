"""A Prometheus that is away, hangs, is not set up, or refuses: no run is affected, all that can be kept is kept, all is reported."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from longhaul.orchestrator.database.counters import Counts
from longhaul.orchestrator.database.prometheus_spans import Span, Spans
from longhaul.orchestrator.live import replay
from longhaul.orchestrator.live.exporter import Exporter
from longhaul.orchestrator.live.prometheus_checks import lacking
from longhaul.orchestrator.live.remote_write import RemoteWriter, Request, Verdict, label_block, requests
from longhaul.orchestrator.live.replay import send, write_openmetrics
from longhaul.orchestrator.live.run_export import note, open_live
from longhaul.orchestrator.live.spool import Spool
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import ExportError, ServiceUnavailable
from longhaul.orchestrator.system.settings import Prometheus, Settings
from tests.live.conftest import expected
from tests.live.prometheus import PrometheusServer, bits
from tests.live.test_streaming import all_is_there, run_plan, series_are_there
from tests.support.command import longhaul
from tests.support.guests import experiment

PLAN = compile_plan(experiment(duration="20 s"))
DAY_MS = 24 * 3600 * 1000


def drain(lab: Settings) -> None:
    """Send the spool, as the next process of the same home does."""
    live = open_live(lab, Store(lab))
    assert live is not None
    with live:
        pass


def one(at_s: float, value: float, run: str = "f" * 20, name: str = "longhaul_run_info") -> Request:
    """A request with a single sample."""
    ms, stored = np.array([round(at_s * 1000)]), np.array([bits(value)], dtype=np.uint64)
    (request,) = requests([(label_block({"__name__": name, "run": run}), ms, stored)])
    return request


def test_runs_made_without_prometheus_are_sent_later(lab: Settings, prometheus: PrometheusServer) -> None:
    prometheus.stop()
    (document,) = run_plan(lab, PLAN)
    assert document["status"] == "done"
    placed = document["prometheus"]
    assert placed["waiting"] == placed["samples"] > 0
    assert Counts(Store(lab).database).export().spool_bytes > 0
    prometheus.start()
    drain(lab)
    # The document keeps the count that waited when the run was kept: the process that could update it has ended.
    assert series_are_there(lab, prometheus, document) == placed["waiting"]
    assert Counts(Store(lab).database).export().spool_bytes == 0


def test_a_prometheus_that_hangs_holds_no_run_up(lab: Settings, prometheus: PrometheusServer) -> None:
    os.kill(prometheus.pid, signal.SIGSTOP)
    try:
        (document,) = run_plan(lab, PLAN)
    finally:
        os.kill(prometheus.pid, signal.SIGCONT)
    assert document["status"] == "done"
    drain(lab)
    placed = document["prometheus"]
    assert (series_are_there(lab, prometheus, document), placed["refused"]) == (placed["samples"], 0)


def test_the_spool_is_bounded_and_dropped_samples_can_be_sent_from_the_store(
    lab: Settings, prometheus: PrometheusServer
) -> None:
    prometheus.stop()
    assert lab.prometheus is not None
    small = replace(lab, prometheus=replace(lab.prometheus, spool_bytes=100_000))
    plan = compile_plan(experiment(duration="20 s"), repeats=3)
    documents = run_plan(small, plan)
    assert all(document["status"] == "done" for document in documents)
    files = list((lab.home / "spool").rglob("*.rw"))
    assert 0 < sum(file.stat().st_size for file in files) <= 100_000
    reasons = [document["prometheus"]["why"] for document in documents if "why" in document["prometheus"]]
    assert reasons
    assert all("LONGHAUL_SPOOL_MB" in why and "--to prometheus" in why for why in reasons)
    prometheus.start()
    drain(lab)
    store = Store(lab)
    for document in documents:
        kept = store.get(document["run"])
        note(store, document["run"], send(store, kept, lab.prometheus))
        all_is_there(lab, prometheus, store.get(document["run"]))


def test_nothing_later_than_now_is_ever_written(lab: Settings, prometheus: PrometheusServer) -> None:
    """Prometheus 2.42 would take it, and then refuse every present sample of every sender."""
    writer = RemoteWriter(Prometheus(prometheus.url))
    answer = writer.push(one(time.time() + 3600, 1.0))
    assert answer.verdict is Verdict.LATER
    assert "in the future" in answer.why
    exporter = Exporter(lab)
    exporter._spool.put(one(time.time() + 3600, 1.0), "f" * 20)
    exporter._spool.put(one(time.time() + 0.3, 2.0), "f" * 20)
    exporter.close()
    assert [series["value"][1] for series in prometheus.query('longhaul_run_info{run="ffffffffffffffffffff"}')] == ["2"]
    assert prometheus.query("longhaul_run_info", at_s=time.time() + 3600) == []
    # The present rounded to a millisecond may be slightly in the future.
    present = one(time.time(), 3.0)
    time.sleep(0.002)
    assert writer.push(present).verdict is Verdict.TAKEN
    writer.close()


def test_permanently_refused_samples_are_counted_logged_and_not_sent_again(
    lab: Settings, prometheus: PrometheusServer, caplog: pytest.LogCaptureFixture
) -> None:
    at_s = time.time() - 5
    refused = {
        "duplicate sample": [one(at_s, 1.0), one(at_s, 2.0)],
        "too old sample": [one(time.time() - 25 * 3600, 1.0)],
        "not unique": [next(requests([(label_block({"__name__": "m", "run": "a"}) + label_block({"run": "b"}), np.array([round(at_s * 1000)]), np.array([0], dtype=np.uint64))]))],
    }  # fmt: skip
    for why, some in refused.items():
        caplog.clear()
        counts = Counts(Store(lab).database)
        before = counts.all().get("refused_samples", 0.0)
        live = open_live(lab, Store(lab))
        assert live is not None
        for request in some:
            live.exporter._spool.put(request, "f" * 20)
        live.exporter.close()
        assert counts.all()["refused_samples"] == before + 1, why
        assert f"run {'f' * 20} to {prometheus.url}: it refused some" in caplog.text
        assert why in caplog.text
        assert not list((lab.home / "spool").rglob("*.rw"))


def test_a_prometheus_that_is_not_set_up_is_reported_in_one_sentence(tmp_path: Path, lab: Settings) -> None:
    config = tmp_path / "narrow.yml"
    config.write_text("storage: {tsdb: {out_of_order_time_window: 10m}}\n")
    folder = tmp_path / "other"
    folder.mkdir()
    unprepared = PrometheusServer(folder, config=config)
    unprepared._argv.remove("--web.enable-remote-write-receiver")
    unprepared.start()
    try:
        found = lacking(Prometheus(unprepared.url))
        assert [piece for piece, _ in found] == [
            "a receiver of remote write",
            "a window for the past of 1440 min (it has 10)",
        ]
        assert "--web.enable-remote-write-receiver" in found[0][1]
        (document,) = run_plan(replace(lab, prometheus=Prometheus(unprepared.url)), PLAN)
        assert document["status"] == "done"
        assert document["prometheus"]["waiting"] > 0
    finally:
        unprepared.stop()
    (gone,) = lacking(Prometheus(unprepared.url))
    assert "ConnectError" in gone[0]


def test_a_replay_sends_what_the_stream_sent(lab: Settings, prometheus: PrometheusServer) -> None:
    (document,) = run_plan(lab, PLAN)
    store = Store(lab)
    sent = send(store, document, lab.prometheus)
    assert sent == document["prometheus"]
    all_is_there(lab, prometheus, document)


def test_the_command_line_exports_and_prints_where(lab: Settings, prometheus: PrometheusServer, tmp_path: Path) -> None:
    (document,) = run_plan(lab, PLAN)
    placed = document["prometheus"]
    where = {"LONGHAUL_PROMETHEUS": prometheus.url}
    done = longhaul("export", document["run"], "--to", "prometheus", home=lab.home, **where)
    begin_s, end_s = placed["begin_ms"] / 1000, placed["end_ms"] / 1000
    assert done.stdout == f"{document['run']}: {placed['samples']} samples from {begin_s:.3f} to {end_s:.3f}\n"
    file = tmp_path / "run.om"
    assert (
        longhaul("export", document["run"], "--to", "openmetrics", "-o", str(file), home=lab.home, **where).stdout
        == f"{file}\n"
    )
    assert file.read_text().endswith("# EOF\n")
    unset = longhaul("export", document["run"], "--to", "prometheus", home=lab.home, LONGHAUL_PROMETHEUS="")
    assert unset.returncode == 2
    assert "LONGHAUL_PROMETHEUS is not set; set it to http://HOST:PORT" in unset.stderr
    ready = longhaul("doctor", home=lab.home, **where)
    assert "prometheus: ready" in ready.stdout.splitlines()


def test_an_earlier_run_gets_a_span_and_keeps_it(lab: Settings, prometheus: PrometheusServer) -> None:
    from longhaul.orchestrator.backends import open_backend
    from longhaul.orchestrator.execution.pipeline import Pipeline

    store = Store(lab)
    (document,) = Pipeline(open_backend("sandbox", lab), store).execute(PLAN)
    assert "prometheus" not in document
    for _ in range(2):
        note(store, document["run"], send(store, store.get(document["run"]), lab.prometheus))
        all_is_there(lab, prometheus, store.get(document["run"]))
    assert Spans(store.database).of(document["run"]) is not None


def test_a_run_that_is_too_old_goes_by_openmetrics_and_blocks(
    lab: Settings, prometheus: PrometheusServer, tmp_path: Path
) -> None:
    (document,) = run_plan(lab, PLAN)
    store = Store(lab)
    placed = document["prometheus"]
    old = placed | {"begin_ms": placed["begin_ms"] - 3 * DAY_MS, "end_ms": placed["end_ms"] - 3 * DAY_MS}
    note(store, document["run"], old)
    document = store.get(document["run"])
    with pytest.raises(ExportError, match=r"72\.\d h old.*--to openmetrics -o FILE.*promtool tsdb create-blocks-from"):
        send(store, document, lab.prometheus)
    file = tmp_path / "run.om"
    count = write_openmetrics(store, document, lab.prometheus, file)
    prometheus.stop()
    subprocess.run(
        ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(file), str(prometheus.data)],
        check=True,
        capture_output=True,
    )
    prometheus.start()
    found = prometheus.stored(document["run"], old["begin_ms"], old["end_ms"])
    wanted, _ = expected(store, document["run"])
    assert found == wanted
    assert sum(map(len, found.values())) == count


def test_a_prometheus_that_stays_away_is_one_sentence(
    lab: Settings, prometheus: PrometheusServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    (document,) = run_plan(lab, PLAN)
    prometheus.stop()
    monkeypatch.setattr(replay, "_PATIENCE_S", 0.5)
    with pytest.raises(ServiceUnavailable, match=r"does not respond.*sends all samples again, without duplicates"):
        send(Store(lab), document, lab.prometheus)


def test_the_spool_of_a_dead_process_is_taken_over_in_order(tmp_path: Path) -> None:
    first = Spool(tmp_path, 10**6)
    now_s = time.time()
    for number in range(3):
        assert first.put(one(now_s, float(number)), "a" * 20)
    # A locked spool belongs to a running process.
    assert Spool(tmp_path, 10**6).first(0) is None
    os.close(first._lock)
    second = Spool(tmp_path, 10**6)
    bodies = []
    while (found := second.first(0)) is not None:
        bodies.append(found.request().body)
        second.remove(found)
    assert bodies == [one(now_s, float(number)).body for number in range(3)]
    assert second.size == 0


def test_no_room_in_time_is_reported_and_the_run_continues(lab: Settings, prometheus: PrometheusServer) -> None:
    store = Store(lab)
    now_ms = int(time.time() * 1000)
    Spans(store.database).put("e" * 20, Span(now_ms - 2 * DAY_MS, now_ms, 10))
    document: RunDocument
    (document,) = run_plan(lab, PLAN)
    assert document["status"] == "done"
    assert "have no gap of 20.01 s left" in document["prometheus"]["why"]


def test_a_run_that_is_run_again_counts_only_its_own_samples(lab: Settings, prometheus: PrometheusServer) -> None:
    """Samples that a killed process left of the same run are sent too, and change nothing."""
    prometheus.stop()
    (document,) = run_plan(lab, PLAN)
    Store(lab).delete(document["run"])
    prometheus.start()
    (again,) = run_plan(lab, PLAN)
    assert again["prometheus"]["begin_ms"] == document["prometheus"]["begin_ms"]
    all_is_there(lab, prometheus, again)
