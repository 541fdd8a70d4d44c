"""The store keeps a run once and complete, and finds it again, also after a crash between folder and row."""

from __future__ import annotations

import csv
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from longhaul.orchestrator.analysis.kept_series import kept_timeline
from longhaul.orchestrator.analysis.timelines import FLOW_SERIES, timeline
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.kept_runs import KeptRuns
from longhaul.orchestrator.database.statuses import HEAD
from longhaul.orchestrator.execution.evaluation import up_to_date
from longhaul.orchestrator.results.conversion import convert
from longhaul.orchestrator.results.downloads import SOURCES
from longhaul.orchestrator.results.export import export_trace
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import NotFound, ResultsError
from longhaul.orchestrator.system.settings import Settings
from tests.support.documents import document, keep_recorded
from tests.support.queue import numbers
from tests.support.recordings import recorded


def test_a_kept_run_is_found_whole(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "a" * 20)
    assert store.find("a" * 20) == document("a" * 20)
    assert store.get("aaa")["run"] == "a" * 20
    manifest = store.manifest("a" * 20)
    run, trace, facts = recorded("lossy_pair")
    assert manifest["run"] == run.as_json()
    assert manifest["facts"] == facts
    assert store.trace("a" * 20).acks.tobytes() == trace.acks.tobytes()
    assert sorted(file.name for file in store.directory("a" * 20).iterdir()) == [
        "acks.parquet", "drops.parquet", "events.parquet", "flows.parquet", "links.parquet", "log.txt", "manifest.json",
            "states.parquet",
    ]  # fmt: skip


def test_keeping_twice_keeps_the_first(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "a" * 20)
    keep_recorded(store, "a" * 20)
    assert len(store.list_runs(10)) == 1


def test_a_run_that_other_code_measured_is_measured_again(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "c" * 20)
    kept = store.get("ccc")
    right = kept["flows"][0]["goodput_bps"]
    store.revise(kept | {"measured_by": "yesterday", "flows": [{**kept["flows"][0], "goodput_bps": 1.0}]})
    assert numbers(store.database, "goodput_bps", "first") == [("c" * 20, 1.0)]
    again = up_to_date(store.get("ccc"), store)
    assert again["flows"][0]["goodput_bps"] == right
    assert again["wall_s"] == kept["wall_s"]
    # All readers get it from now on, and it is not measured twice.
    assert store.get("ccc") == again
    assert store.manifest("c" * 20)["document"] == again
    assert numbers(store.database, "goodput_bps", "first") == [("c" * 20, right)]
    assert up_to_date(again, store) is again


def test_a_folder_without_a_row_is_adopted(store: Store, settings: Settings, tmp_path: Path) -> None:
    keep_recorded(store, "b" * 20)
    with sqlite3.connect(settings.home / "catalogue.sqlite") as database:
        database.execute("PRAGMA foreign_keys=ON")
        database.execute("DELETE FROM runs")
    database.close()
    found = Store(settings).find("b" * 20)
    assert found is not None
    assert found == document("b" * 20)
    Store(settings).adopt(found)
    assert len(Store(settings).list_runs(10)) == 1


def test_a_document_is_read_without_sqlalchemy_only_as_this_version_wrote_it(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
    kept = KeptRuns(settings.home / "catalogue.sqlite")
    assert kept.document("d" * 20) is None
    keep_recorded(store, "d" * 20)
    assert kept.document("d" * 20) == document("d" * 20)
    assert kept.document("e" * 20) is None
    for statement, undo in (
        ("UPDATE runs SET status = 'failed'", "UPDATE runs SET status = 'done'"),
        ("UPDATE alembic_version SET version_num = '9999'", f"UPDATE alembic_version SET version_num = '{HEAD}'"),
    ):
        for change, found in ((statement, None), (undo, document("d" * 20))):
            with closing(sqlite3.connect(settings.home / "catalogue.sqlite")) as database, database:
                database.execute(change)
            assert kept.document("d" * 20) == found
    for user in (store.database, store.index, kept):
        user.close()
    (settings.home / "catalogue.sqlite").write_bytes(b"no database")
    assert kept.document("d" * 20) is None
    with pytest.raises(ResultsError, match="not a database"):
        Store(settings).find("d" * 20)


def test_an_ambiguous_or_unknown_beginning_of_an_id_is_an_error(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "ab" + "0" * 18)
    keep_recorded(store, "ab" + "1" * 18)
    with pytest.raises(NotFound, match="several runs"):
        store.get("ab")
    with pytest.raises(NotFound, match="no kept run"):
        store.get("zz")
    # A wildcard of SQL is an ordinary character here.
    with pytest.raises(NotFound, match="no kept run"):
        store.get("%")


def test_a_deleted_run_is_gone(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "c" * 20)
    store.delete("c" * 20)
    assert store.find("c" * 20) is None
    assert not store.directory("c" * 20).exists()
    assert numbers(store.database, "goodput_bps", "first") == []


def test_measures_of_a_sweep_are_queryable(store: Store, tmp_path: Path) -> None:
    for letter in "abc":
        keep_recorded(store, letter * 20)
    values = numbers(store.database, "goodput_bps", "first")
    assert len(values) == 3
    assert {value for _, value in values} == {document("a")["flows"][0]["goodput_bps"]}
    assert len(numbers(store.database, "rtt_ms.p95", "first")) == 3
    assert len(numbers(store.database, "queue_packets.max", "")) == 3


def test_many_threads_open_one_catalogue(settings: Settings) -> None:
    catalog = Store(settings).catalog
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda _: catalog.page(5, Filter(kept=True)), range(32))) == [[]] * 32


def test_a_damaged_database_is_an_error(settings: Settings) -> None:
    settings.home.mkdir()
    (settings.home / "catalogue.sqlite").write_bytes(b"this is no database, it is a text that is long enough" * 20)
    with pytest.raises(ResultsError, match="not a database"):
        Store(settings).list_runs(5)


@pytest.mark.parametrize(("to", "begins"), [("csv", b'"t_ns"'), ("json", b'{"t_ns"'), ("parquet", b"PAR1")])
def test_a_trace_is_exported(store: Store, tmp_path: Path, to: str, begins: bytes) -> None:
    keep_recorded(store, "d" * 20)
    files = export_trace(store, "d" * 20, to, tmp_path / "out")
    assert [file.name for file in files] == [
        f"{kind}s.{to}" for kind in ("ack", "drop", "event", "flow", "link", "state")
    ]
    assert files[0].read_bytes().startswith(begins)


def test_a_csv_is_made_once_and_holds_every_record(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "d" * 20)
    file = store.file("d" * 20, "acks.csv")
    _, trace, _ = recorded("lossy_pair")
    with file.open() as lines:
        rows = list(csv.DictReader(lines))
    assert [int(row["cwnd"]) for row in rows] == trace.acks["cwnd"].tolist()
    assert [int(row["t_ns"]) for row in rows] == trace.acks["t_ns"].tolist()
    made = file.stat().st_mtime_ns
    assert store.file("d" * 20, "acks.csv").stat().st_mtime_ns == made
    # A kind without records is a line of names.
    assert store.file("d" * 20, "states.csv").read_text().startswith('"t_ns","state","id","layout"')
    assert {one.name for one in file.parent.iterdir() if not one.name.startswith(".")} == {"acks.csv", "states.csv"}


def test_every_file_for_download_exists(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "d" * 20)
    of_some = {f"{kind}.{ending}" for kind in ("departures", "decisions") for ending in ("parquet", "csv")}
    assert set(store.file_names("d" * 20)) == SOURCES.keys() - of_some
    for name in store.file_names("d" * 20):
        assert store.file("d" * 20, name).is_file()
        assert store.file("d" * 20, name).name == name
    assert len(SOURCES) == 18
    for name in of_some:
        with pytest.raises(NotFound, match="the run has no such records; they are of links with queue: dualpi2"):
            store.file("d" * 20, name)


def test_concurrent_requests_get_one_whole_csv(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "d" * 20)
    # A leftover of a dead process.
    half = store.home / "derived" / "dd" / ("d" * 20) / ".acks.csv.half"
    half.parent.mkdir(parents=True)
    half.write_text("half a fi")
    with ThreadPoolExecutor(8) as threads:
        texts = list(threads.map(lambda _: store.file("d" * 20, "acks.csv").read_text(), range(32)))
    assert set(map(len, texts)) == {len(texts[0])}
    assert texts[0].count("\n") == 1 + len(recorded("lossy_pair")[1].acks)
    assert not half.exists()


def test_a_run_that_is_deleted_while_its_csv_is_made_leaves_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_recorded(store, "d" * 20)

    def too_late(source: Path, target: Path, to: str) -> None:
        shutil.rmtree(source.parent)
        convert(source, target, to)

    monkeypatch.setattr("longhaul.orchestrator.results.downloads.convert", too_late)
    with pytest.raises(ResultsError, match=r"making .*acks\.csv"):
        store.file("d" * 20, "acks.csv")
    assert not (store.home / "derived" / "dd" / ("d" * 20)).exists()


def test_the_path_of_a_run_is_not_its_name(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "d" * 20)
    with pytest.raises(NotFound):
        store.file(str(store.directory("d" * 20)), "log.txt")


@pytest.mark.parametrize(
    ("run_id", "name"),
    [
        ("d" * 20, "../../../catalogue.sqlite"),
        ("d" * 20, "/etc/passwd"),
        ("d" * 20, "trace.bin"),
        ("d" * 20, ".acks.csv.half"),
        ("d" * 20, ""),
        ("../dd/" + "d" * 20, "log.txt"),
        ("..", "log.txt"),
        ("d" * 20 + "\n", "log.txt"),
        ("e" * 20, "log.txt"),
    ],
)
def test_no_name_leads_elsewhere(store: Store, tmp_path: Path, run_id: str, name: str) -> None:
    keep_recorded(store, "d" * 20)
    with pytest.raises(NotFound):
        store.file(run_id, name)
    with pytest.raises(NotFound):
        kept_timeline(store, run_id if run_id != "d" * 20 else "f" * 20, "queue")


def test_derived_files_go_with_their_run(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "d" * 20)
    derived = store.file("d" * 20, "links.csv").parent
    store.delete("d" * 20)
    assert not derived.exists()
    with pytest.raises(NotFound):
        store.file("d" * 20, "links.csv")


def test_a_series_of_a_kept_run_is_that_of_its_trace(store: Store, tmp_path: Path) -> None:
    keep_recorded(store, "d" * 20)
    run, trace, _ = recorded("lossy_pair")
    for begin_s, end_s in ((0.0, None), (0.5, 1.5)):
        for measure in FLOW_SERIES:
            kept = kept_timeline(store, "d" * 20, measure, flow="first", begin_s=begin_s, end_s=end_s, points=100)
            expected = timeline(run, trace.columns, measure, flow="first", begin_s=begin_s, end_s=end_s, points=100)
            assert (kept.about, kept.unit, kept.of_values) == ("first", expected.unit, expected.of_values)
            np.testing.assert_array_equal(kept.t_s, expected.t_s)
            np.testing.assert_array_equal(kept.values, expected.values)
    assert kept_timeline(store, "d" * 20, "queue").values.max() > 0
