"""Questions in SQL over kept runs: their tables, their mistakes, and what they may not do."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import longhaul
from longhaul.cli.runs import query as verb
from longhaul.orchestrator.analysis.query.catalogue import columns_of, table_rows
from longhaul.orchestrator.analysis.query.engine import KNOWN, Engine
from longhaul.orchestrator.analysis.query.swept_fields import swept_fields
from longhaul.orchestrator.analysis.query.tables import Tables
from longhaul.orchestrator.results.parquet import encode_cells
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError, NotFound, OverLimit, PlanError
from longhaul.orchestrator.system.settings import load_settings
from tests.support.documents import keep_recorded
from tests.support.recordings import recorded

SPEC = {
    "experiment": "lossy-pair",
    "path": {"queue": "droptail", "buffer": "1 BDP", "mtu": 1500, "ecn": False},
    "duration": "3 s",
}
POINTS = [{"path.rtt": "10 ms", "flows.first.cc": "cubic"}, {"path.rtt": "0.1 s", "flows.first.cc": "bbr"}]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A home with two runs of one sweep, in a folder whose name is no pattern."""
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "it's [home]"))
    return Store(load_settings())


@pytest.fixture
def runs(store: Store) -> list[str]:
    keys = ["a" * 20, "b" * 20]
    for key, point in zip(keys, POINTS, strict=True):
        keep_recorded(store, key, spec=SPEC, point=point)
    return keys


def ask(store: Store, sql: str, **more: Any) -> list[tuple[Any, ...]]:
    with Engine(store, **more) as engine:
        return list(engine.ask(sql).rows())


def test_a_run_is_a_row_with_its_experiment_and_measures(store: Store, runs: list[str]) -> None:
    kept = store.get("a")
    (row,) = ask(
        store,
        "SELECT run, experiment, point['path.rtt'], queue, mtu, ecn, loss_share, utilisation, jain FROM runs WHERE run LIKE 'a%'",
    )
    path = kept["path"]["utilisation"]
    assert row == (runs[0], "lossy-pair", "10 ms", "droptail", 1500, "off", 0.0, path, kept["jain"])


def test_results_and_measures_have_the_numbers_of_the_document(store: Store, runs: list[str]) -> None:
    flows: dict[str, Any] = {flow["name"]: flow for flow in store.get("a")["flows"]}
    found = ask(store, f"SELECT flow, cc, goodput_bps, rtt_ms_p99 FROM results WHERE run = '{runs[0]}' ORDER BY flow")
    assert found == [
        (name, one["cc"], one["goodput_bps"], (one["rtt_ms"] or {}).get("p99")) for name, one in sorted(flows.items())
    ]
    long = dict(ask(store, f"SELECT measure, value FROM measures WHERE run = '{runs[0]}' AND flow = 'first'"))
    assert long["goodput_bps"] == flows["first"]["goodput_bps"]
    assert long["rtt_ms_p99"] == flows["first"]["rtt_ms"]["p99"]


def test_every_record_of_every_kind_is_there(store: Store, runs: list[str]) -> None:
    planned, trace, _ = recorded("lossy_pair")
    for kind, records in trace.kinds().items():
        found = ask(store, f"SELECT run, count(*), max(t_ns) FROM {kind}s GROUP BY run ORDER BY run")
        assert found == ([(run, len(records), int(records["t_ns"].max())) for run in runs] if len(records) else []), (
            kind
        )
    first = {flow.id for flow in planned.flows if flow.name == "first"}
    (count,) = ask(store, f"SELECT count(*), max(cwnd), max(t_s) FROM acks WHERE flow = 'first' AND run = '{runs[0]}'")
    acks = trace.acks[[one in first for one in trace.acks["id"]]]
    assert count == (len(acks), int(acks["cwnd"].max()), acks["t_ns"].max() / 1e9)
    assert ask(store, "SELECT DISTINCT link FROM links ORDER BY 1") == [(link.name,) for link in planned.links]


def test_a_sweep_has_its_runs_alone_and_its_fields_as_columns(store: Store, runs: list[str]) -> None:
    rows = ask(store, "SELECT DISTINCT run, rtt, rtt_us, first_cc FROM points ORDER BY rtt_us", sweep="lossy-pair")
    assert rows == [(runs[0], "10 ms", 10_000.0, "cubic"), (runs[1], "0.1 s", 100_000.0, "bbr")]
    (row,) = ask(store, "SELECT path_utilisation, goodput_bps FROM points WHERE flow = 'first' AND rtt = '10 ms'")
    assert row == (store.get("a")["path"]["utilisation"], store.get("a")["flows"][0]["goodput_bps"])
    assert ask(store, "SELECT count(DISTINCT run) FROM acks", sweep="lossy-pair") == [(2,)]
    with pytest.raises(NotFound, match="looking for the sweep other"):
        Engine(store, "other")


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["1 %", "0", "1e-5"], {"loss": "1 %", "loss_share": 0.01}),
        (["1 packets", "2 MB"], {"loss": "1 packets"}),
        (["40 ms", "1 s"], {"loss": "40 ms", "loss_us": 40_000}),
    ],
)
def test_a_field_has_a_number_where_all_values_are_amounts_of_one_kind(
    texts: list[str], expected: dict[str, Any]
) -> None:
    (field,) = swept_fields([{"path.loss": text} for text in texts])
    assert field.values({"path.loss": texts[0]}) == expected
    assert set(field.values({}).values()) == {None}


def test_columns_of_fields_with_one_last_part_are_distinguished() -> None:
    fields = swept_fields(
        [{"flows.a.cc": "bbr", "flows.b.cc": "reno", "path.queue": "pie", "x.flow": "1"}], {"queue", "flow"}
    )
    assert [field.column for field in fields] == ["a_cc", "b_cc", "path_queue", "x_flow"]


def test_a_home_without_runs_has_empty_tables_with_the_same_columns(store: Store) -> None:
    for table in sorted(KNOWN):
        with Engine(store) as engine:
            answer = engine.ask(f"SELECT * FROM {table}")
            assert answer.columns == [name for name in columns_of(table) if name != "(swept fields)"]
            assert list(answer.rows()) == []
    assert {row["table"] for row in table_rows()} == KNOWN


MISTAKES = [
    ("SELECT run FROM runs WHERE", "at character 22 (`WHERE`): syntax error"),
    ("SELECT sed FROM runs", "at character 8 (`sed FROM runs`): Referenced column"),
    ("SELECT run,\n  sed FROM runs", "at line 2, character 3 (`sed FROM runs`): Referenced column"),
    ("SELECT 'é', sed FROM runs", "at character 13 (`sed FROM runs`)"),
    ("SELECT 1 FROM rusn", "at character 15 (`rusn`): there is no table rusn; known: acks, decisions, departures, drops, events, flows, links, measures, points, results, runs, states, sweeps, nearest: runs"),
    ("SELECT avg(cc) FROM results", "at character 8"),
    ("SELECT cc::INT FROM results", "Could not convert string"),
    ("", "it has 0 statements"),
    ("SELECT 1; SELECT 2", "it has 2 statements"),
    *((sql, "only a SELECT can be asked") for sql in ("DROP TABLE runs", "COPY runs TO 'x'", "INSTALL httpfs", "SET threads = 1", "ATTACH 'x'", "CREATE TABLE x AS SELECT 1")),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "text"), MISTAKES)
def test_a_mistake_is_one_sentence_with_its_place(store: Store, runs: list[str], sql: str, text: str) -> None:
    with pytest.raises(PlanError, match=re.escape(text)) as error:
        ask(store, sql)
    assert "\n" not in str(error.value)
    assert error.value.exit_code == 2


OUTSIDE = [
    "FROM '/etc/passwd'", "FROM read_csv('/etc/passwd')", "FROM read_text('/etc/passwd')", "FROM read_blob('/etc/hostname')",
    "FROM glob('/etc/*')", "FROM read_parquet('/etc/passwd')", "FROM read_json('/proc/self/environ')", "FROM parquet_metadata('/etc/passwd')",
    "FROM 'https://example.org/a.csv'", "SELECT getenv('HOME')", "FROM sniff_csv('/etc/passwd')", "FROM store", "FROM runs, runs_of_python",
]  # fmt: skip


@pytest.mark.parametrize("sql", OUTSIDE)
def test_a_question_reads_nothing_but_kept_runs(store: Store, runs: list[str], sql: str) -> None:
    runs_of_python = {"a": [1]}
    assert runs_of_python
    with pytest.raises(LonghaulError):
        ask(store, sql)
    # A file of the home that is no run's.
    (store.home / "secret.csv").write_text("a\n1\n")
    with pytest.raises(LonghaulError):
        ask(store, f"FROM read_csv('{str(store.home / 'secret.csv').replace(chr(39), chr(39) * 2)}')")


def test_an_answer_takes_no_more_memory_than_it_may(store: Store) -> None:
    with pytest.raises(OverLimit, match="it needs more memory than it may use; give it more with --memory"):
        ask(store, "SELECT list(repeat('x', 1000) || i) FROM range(1000000) AS numbers(i)", memory="50 MB")
    assert ask(
        store, "SELECT count(*) FROM (SELECT DISTINCT i % 7 FROM range(1000000) AS numbers(i))", memory="50 MB"
    ) == [(7,)]


def test_a_temporary_folder_ends_with_the_answer(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(tmp_path.iterdir())
    with pytest.raises(PlanError):
        ask(store, "SELECT nothing FROM runs")
    ask(store, "SELECT 1")
    assert {path for path in tmp_path.iterdir() if path not in before and "query" in path.name} == set()


def test_damaged_records_are_an_error(store: Store, runs: list[str]) -> None:
    (store.directory(runs[1]) / "acks.parquet").write_bytes(b"PAR1 nothing PAR1")
    with pytest.raises(LonghaulError, match="verify"):
        ask(store, "SELECT count(*) FROM acks")


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    def run(**options: Any) -> str:
        verb._answer(verb.QueryOptions(**options))
        return capsys.readouterr().out

    yield run


def test_the_formats_have_the_same_rows(store: Store, runs: list[str], printed: Any, tmp_path: Path) -> None:
    sql = "SELECT run, flow, goodput_bps FROM results ORDER BY run, flow"
    expected = ask(store, sql)
    rows = list(csv.reader(io.StringIO(printed(sql=sql, to=verb.AnswerFormat.csv))))
    assert [(run, flow, float(bps)) for run, flow, bps in rows[1:]] == expected
    assert [tuple(row.values()) for row in json.loads(printed(sql=sql, to=verb.AnswerFormat.json))] == expected
    for name in ("answer.parquet", "answer.csv", "answer.json"):
        printed(sql=sql, output=tmp_path / name)
    assert pyarrow.parquet.read_table(tmp_path / "answer.parquet").to_pylist() == [
        dict(zip(("run", "flow", "goodput_bps"), row, strict=True)) for row in expected
    ]
    assert [tuple(row.values()) for row in json.loads((tmp_path / "answer.json").read_text())] == expected
    assert len((tmp_path / "answer.csv").read_text().splitlines()) == len(expected) + 1
    for library in ("pandas", "polars", "pyarrow"):
        frame = longhaul.query(sql, library=library)
        assert list(
            map(
                str,
                frame["run"].to_list()
                if library == "polars"
                else frame["run"].tolist()
                if library == "pandas"
                else frame["run"].to_pylist(),
            )
        ) == [row[0] for row in expected]


def test_a_table_says_that_there_are_more_rows(
    store: Store, runs: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    verb._answer(verb.QueryOptions(sql="SELECT t_ns FROM acks", limit=3))
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 4
    assert "the first 3 rows" in shown.err


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "there is none"),
        ({"sql": "SELECT 1", "to": verb.AnswerFormat.parquet}, "name a file with --output"),
        ({"sql": "SELECT 1", "output": Path("x.txt")}, "its ending is no format"),
        ({"sql": "SELECT 1", "to": verb.AnswerFormat.table, "output": Path("x.csv")}, "a table is for the terminal"),
        ({"sql": "SELECT 1", "memory": "much"}, "give a size with its unit"),
    ],
)
def test_options_that_do_not_fit_are_refused(store: Store, options: dict[str, Any], text: str) -> None:
    with pytest.raises(PlanError, match=text):
        verb._answer(verb.QueryOptions(**options))


def test_the_table_of_points_that_a_service_sends_is_that_of_a_question(
    store: Store, runs: list[str], tmp_path: Path
) -> None:
    table = Tables(store, "lossy-pair").points()
    names = list(table.columns)
    rows = [[row.get(name) for name in names] for row in table.rows()]
    (tmp_path / "points.parquet").write_bytes(encode_cells(names, rows))
    sent = pyarrow.parquet.read_table(tmp_path / "points.parquet")
    asked = longhaul.query("SELECT * FROM points", sweep="lossy-pair", library="pyarrow")
    assert sent.column_names == asked.column_names
    assert sent.num_rows == 6
    assert sorted(sent.to_pylist(), key=str) == sorted(asked.to_pylist(), key=str)
