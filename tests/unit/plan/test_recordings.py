"""Recorded links in a plan: rows of each run, ids, what the line could carry, and refusals."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest

from longhaul.orchestrator.plan import recordings
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.placed.recorded_table import RecordedTable, memory_of, rows_file
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.recorded_links.formats import MODELS
from longhaul.orchestrator.recorded_links.generators import GENERATORS
from longhaul.orchestrator.spec.load import OwnCode, load_experiment, parse_experiment
from longhaul.orchestrator.system.errors import BackendError, LonghaulError, PlanError, SpecError

# 8 s of a line each millisecond; of 10 to 16 Mbit/s in steps of 100 ms, the same with delays and losses; and so on.
FILES = {
    "steady": "".join(f"{ms}\n" for ms in range(1, 8001)),
    "rates.csv": "time_s,rate_mbps\n" + "".join(f"{row / 10},{10 + row % 7}\n" for row in range(80)),
    "all.csv": "time_s,rate_mbps,delay_ms,loss\n"
    + "".join(f"{row / 10},{10 + row % 7},{row % 3 + 5},0.01\n" for row in range(80)),
    "delays.csv": "time_s,delay_ms\n" + "".join(f"{row / 10},{row % 3 + 5}\n" for row in range(80)),
    "losses": "0001000001",
}
BANDWIDTH = {"bandwidth": "20 Mbit/s"}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Some recordings, and a cache that is empty."""
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def runs_of(path: Mapping[str, Any], **changes: Any) -> tuple[Run, ...]:
    written = {
        "experiment": "test",
        "path": {"rtt": "40 ms", **path},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "5 s",
        "start_jitter": "0 s",
    }
    return compile_plan(parse_experiment(written | changes, "test")).runs


def recorded(file: Path, **fields: Any) -> dict[str, Any]:
    return {"recording": {"file": str(file), **fields}}


def rows_of(table: RecordedTable, folder: Path) -> list[tuple[int, int]]:
    rows = np.frombuffer(rows_file(table, folder / "cache").read_bytes(), dtype="<u8").reshape(-1, 2)
    assert len(rows) == table.rows
    return [(at, value) for at, value in rows.tolist()]


def changed(**path: str) -> dict[str, Any]:
    return {"schedule": [{"at": "1 s", "path": path}]}


def ids(*runs: Run) -> list[str]:
    return [run_id(run, {}) for run in runs]


def test_each_column_is_a_table_in_the_cache(folder: Path) -> None:
    (run,) = runs_of(recorded(folder / "all.csv"))
    found = {table.kind: rows_of(table, folder) for table in run.recordings}
    instants = [row * 100_000_000 for row in range(50)]
    assert found == {
        "rates": [(at, (10 + row % 7) * 1_000_000) for row, at in enumerate(instants)],
        # What is above the least delay, which the qdisc has.
        "delays": [(at, row % 3 * 1_000_000) for row, at in enumerate(instants)],
        "losses": [(0, round(0.01 * 2**32))],
    }
    assert {(table.node, table.dev) for table in run.recordings} == {("s1", "s1-b1")}
    assert run.links[0].one_way_us == 25_000
    assert run.links[0].rate_bps == pytest.approx(sum(10 + row % 7 for row in range(80)) / 80 * 1e6, abs=8)


def test_opportunities_count_packets_without_their_frames(folder: Path) -> None:
    (run,) = runs_of(recorded(folder / "steady"))
    (table,) = run.recordings
    assert (table.kind, table.header_bytes, table.rows, table.end) == ("opportunities", 14, 5000, 0)
    assert rows_of(table, folder) == [(ms * 1_000_000, 1500) for ms in range(1, 5001)]
    assert run.links[0].rate_bps == 12_112_000


def test_a_pattern_of_losses_is_repeated(folder: Path) -> None:
    (run,) = runs_of(BANDWIDTH | recorded(folder / "losses", format="losses"))
    (table,) = run.recordings
    assert (table.kind, table.end, rows_of(table, folder)) == ("lost_packets", 10, [(3, 1), (9, 1)])
    assert run.links[0].rate_bps == 20_000_000
    assert run.links[0].offered_bytes == ()


def test_both_directions_can_be_recorded(folder: Path) -> None:
    both = recorded(folder / "steady") | {"reverse_recording": recorded(folder / "rates.csv")["recording"]}
    (run,) = runs_of(both)
    assert [table.kind for table in run.recordings] == ["opportunities", "rates"]
    assert len({table.dev for table in run.recordings}) == 2
    assert {link.name: link.rate_bps // 1_000_000 for link in run.links} == {"bottleneck": 12, "reverse": 12}


@pytest.mark.parametrize(("duration", "seconds"), [("5 s", 5), ("8 s", 8), ("20 s", 20), ("70 s", 70)])
def test_what_the_line_could_carry_sums_to_the_bytes_of_the_file(folder: Path, duration: str, seconds: int) -> None:
    (steady,) = runs_of(recorded(folder / "steady"), duration=duration)
    assert sum(steady.links[0].offered_bytes) == seconds * 1000 * 1514
    (table,) = runs_of(recorded(folder / "rates.csv"), duration=duration)
    megabits = sum(10 + row % 80 % 7 for row in range(seconds * 10))
    assert sum(table.links[0].offered_bytes) == megabits * 100_000 // 8
    for run in (steady, table):
        link = run.links[0]
        assert link.offered_every_us % 10_000 == 0
        assert len(link.offered_bytes) == -(-run.duration_us // link.offered_every_us) <= 6000
        spans = run.link_rates(link)
        assert [begin_us for begin_us, *_ in spans] == [0, *(end_us for _, end_us, _ in spans[:-1])]
        assert spans[-1][1] == run.duration_us
    assert steady.link_rates(steady.links[0]) == [(0, steady.duration_us, 12_112_000)]


def test_an_opportunity_at_the_begin_of_the_run_counts(folder: Path) -> None:
    (folder / "zero").write_text("0\n0\n2000\n9000\n")
    (run,) = runs_of(recorded(folder / "zero"))
    assert sum(run.links[0].offered_bytes) == 3 * 1514
    assert run.links[0].offered_bytes[0] == 2 * 1514


def test_a_short_file_fills_a_long_run(folder: Path) -> None:
    (folder / "one").write_text("1\n")
    (run,) = runs_of(recorded(folder / "one"), duration="60 s")
    assert (run.recordings[0].rows, run.links[0].rate_bps) == (60_000, 12_112_000)
    assert sum(run.links[0].offered_bytes) == 60_000 * 1514


def test_memory_is_that_of_the_rows_twice(folder: Path) -> None:
    (plain,) = runs_of(BANDWIDTH)
    (run,) = runs_of(recorded(folder / "steady"), duration="60 s")
    assert memory_of(run.recordings) == 2
    assert run.memory_mb == plain.memory_mb + 2


def test_the_id_is_that_of_the_content(folder: Path) -> None:
    """Not of the name, the folder or the format."""
    other = folder / "other"
    other.mkdir()
    shutil.copy(folder / "rates.csv", other / "renamed.csv")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(folder / "rates.csv"), other / "link.parquet")
    (other / "link.csv").write_text(
        "rate_kbps,time_ms\n" + "".join(f"{10_000 + row % 7 * 1000},{7000 + row * 100}\n" for row in range(80))
    )
    (first,) = runs_of(recorded(folder / "rates.csv"))
    for file in other.iterdir():
        (same,) = runs_of(recorded(file))
        assert ids(same) == ids(first), file
    (other / "link.csv").write_text(FILES["rates.csv"].replace("\n0.3,13\n", "\n0.3,13.000001\n"))
    (changed,) = runs_of(recorded(other / "link.csv"))
    assert ids(changed) != ids(first)


def test_a_file_that_changes_is_read_again(folder: Path) -> None:
    (before,) = runs_of(recorded(folder / "steady"))
    (folder / "steady").write_text("".join(f"{ms}\n" for ms in range(2, 8001, 2)))
    (after,) = runs_of(recorded(folder / "steady"))
    assert (before.links[0].rate_bps, after.links[0].rate_bps) == (12_112_000, 6_056_000)
    assert ids(before) != ids(after)


def test_rows_behind_the_end_of_the_run_do_not_count(folder: Path) -> None:
    longer = folder / "longer.csv"
    # The mean of the whole recording stays as it is, and so does the buffer.
    longer.write_text(FILES["rates.csv"].replace("\n6.0,14\n6.1,15\n", "\n6.0,15\n6.1,14\n"))
    assert longer.read_text() != FILES["rates.csv"]
    assert ids(*runs_of(recorded(longer))) == ids(*runs_of(recorded(folder / "rates.csv")))


def test_rows_are_laid_out_again_after_the_cache_was_cleaned(folder: Path) -> None:
    (before,) = runs_of(recorded(folder / "rates.csv"))
    shutil.rmtree(folder / "cache")
    (after,) = runs_of(recorded(folder / "rates.csv"))
    assert ids(before) == ids(after)
    assert rows_of(after.recordings[0], folder)


def test_each_seed_draws_its_offset(folder: Path) -> None:
    drawn = recorded(folder / "rates.csv", offset="drawn")
    first, second, third = runs_of(drawn, repeats=3)
    assert len({run.recordings[0].file for run in (first, second, third)}) == 3
    assert ids(*runs_of(drawn, repeats=3)) == ids(first, second, third)
    assert ids(*runs_of(drawn, seed=2)) == ids(second)
    begins = {rows_of(run.recordings[0], folder)[0][1] for run in runs_of(drawn, repeats=20)}
    assert len(begins) > 3
    fixed = runs_of(recorded(folder / "rates.csv", offset="3 s"), repeats=3)
    assert len({run.recordings[0].file for run in fixed}) == 1


def test_two_links_draw_different_offsets(folder: Path) -> None:
    drawn = {"file": str(folder / "rates.csv"), "offset": "drawn"}
    (run,) = runs_of({"recording": drawn, "reverse_recording": drawn})
    assert len({table.file for table in run.recordings}) == 2


def test_a_run_begins_at_its_offset_and_wraps(folder: Path) -> None:
    (run,) = runs_of(recorded(folder / "rates.csv", offset="7850 ms"))
    found = rows_of(run.recordings[0], folder)
    # Of rows 78 and 79, then again from the first on.
    assert found[:4] == [
        (0, 11_000_000),
        (50_000_000, 12_000_000),
        (150_000_000, 10_000_000),
        (250_000_000, 11_000_000),
    ]


@pytest.mark.parametrize(
    ("fields", "duration", "left"),
    [
        ({}, "8001 ms", "8 s of the recording are left, and the run takes 8.001 s"),
        ({"offset": "5 s"}, "5 s", "3 s of the recording are left, and the run takes 5 s"),
    ],
)
def test_a_recording_that_ends_refuses_a_longer_run(
    folder: Path, fields: dict[str, Any], duration: str, left: str
) -> None:
    for file in ("rates.csv", "steady"):
        with pytest.raises(PlanError) as caught:
            runs_of(recorded(folder / file, at_end="cut", **fields), duration=duration)
        assert left in str(caught.value)
        assert caught.value.subject == "path.recording"
        assert "at_end: wrap" in caught.value.hint
    assert runs_of(recorded(folder / "rates.csv", at_end="cut", offset="3 s"))


def test_lines_between_rows_are_steps_of_a_millisecond(folder: Path) -> None:
    (run,) = runs_of(recorded(folder / "rates.csv", between="line"))
    found = rows_of(run.recordings[0], folder)
    assert found[:3] == [(0, 10_005_000), (1_000_000, 10_015_000), (2_000_000, 10_025_000)]
    assert len(found) == 5000


def test_a_scale_is_a_factor_of_rates_alone(folder: Path) -> None:
    plain, scaled = (runs_of(recorded(folder / "all.csv", scale=scale))[0] for scale in (1.0, 2.0))
    first, second = ({table.kind: rows_of(table, folder) for table in run.recordings} for run in (plain, scaled))
    assert second["rates"] == [(at, 2 * bps) for at, bps in first["rates"]]
    assert (second["delays"], second["losses"]) == (first["delays"], first["losses"])
    assert scaled.links[0].rate_bps == 2 * plain.links[0].rate_bps


def test_a_sweep_over_the_scale(folder: Path) -> None:
    runs = runs_of(recorded(folder / "steady"), sweep={"path.recording.scale": [0.5, 1.0, 2.0]})
    assert [sum(run.links[0].offered_bytes) for run in runs] == [scale * 1514 for scale in (2500, 5000, 10_000)]
    assert [run.links[0].rate_bps for run in runs] == [6_056_000, 12_112_000, 24_224_000]


def test_a_sweep_over_files(folder: Path) -> None:
    files = [str(folder / name) for name in ("rates.csv", "steady")]
    runs = runs_of(recorded(folder / "rates.csv"), sweep={"path.recording.file": files})
    assert [run.recordings[0].kind for run in runs] == ["rates", "opportunities"]
    with pytest.raises(PlanError, match=r"path\.recording\.file=none: No such file"):
        runs_of(recorded(folder / "rates.csv"), sweep={"path.recording.file": [files[0], "/none"]})


@pytest.mark.parametrize(
    "sweep",
    ["{path.recording.file: [near, ../steady]}", "[{path.recording.file: near}, {path.recording.file: ../steady}]"],
)
def test_paths_are_relative_to_the_file_of_the_experiment(folder: Path, sweep: str) -> None:
    sub = folder / "sub"
    sub.mkdir()
    shutil.copy(folder / "steady", sub / "near")
    written = (
        "experiment: test\npath: {rtt: 40 ms, recording: {file: near}, reverse_recording: {file: ../rates.csv}}\n"
        "flows: [{name: one, cc: cubic}]\nduration: 5 s\n"
    )
    (sub / "one.yaml").write_text(written)
    (run,) = compile_plan(load_experiment(str(sub / "one.yaml"))).runs
    assert [table.kind for table in run.recordings] == ["opportunities", "rates"]
    (sub / "two.yaml").write_text(f"{written}sweep: {sweep}\n")
    first, second = compile_plan(load_experiment(str(sub / "two.yaml"))).runs
    assert first.recordings == second.recordings == run.recordings


RATES: dict[str, Any] = {"file": "rates.csv"}
STEADY: dict[str, Any] = {"file": "steady"}
PATTERN: dict[str, Any] = {"file": "losses", "format": "losses"}
TWICE = "there is a bandwidth too"
# A name, fields of the recording and of the experiment, the field that the sentence names, and a phrase of it.
REFUSED: list[tuple[str, dict[str, Any], dict[str, Any], str, str]] = [
    ("bandwidth beside rates", RATES, {"path": BANDWIDTH}, "path.recording", TWICE),
    ("bandwidth beside opportunities", STEADY, {"path": BANDWIDTH}, "path.recording", TWICE),
    ("loss beside losses", {"file": "all.csv"}, {"path": {"loss": "1%"}}, "path.recording", "there is a loss too"),
    ("loss beside a pattern", PATTERN, {"path": BANDWIDTH | {"loss": "1%"}}, "path.recording", "there is a loss too"),
    ("another queue", RATES, {"path": {"queue": "codel"}}, "path.queue", "droptail"),
    ("a chain", RATES, {"emulation": "chain"}, "emulation", "cannot replay a recording"),
    ("offloads", RATES, {"path": {"offloads": "on"}}, "path.offloads", "carries frames"),
    *(
        (name, RATES, {"path": {name: "1%"}}, f"path.{name}", "no value on a recorded link")
        for name in ("reorder", "duplicate", "corrupt")
    ),
    ("a change of the bandwidth", RATES, changed(bandwidth="5 Mbit/s"), "path.recording", "changes the bandwidth"),
    ("a change of the buffer", RATES, changed(buffer="20 packets"), "path.recording", "changes the buffer"),
    ("a change to overtaking", RATES, changed(reorder="1%"), "path.recording", "changes the reorder"),
    (
        "bursts beside losses",
        PATTERN,
        {"path": BANDWIDTH | {"burst": {"p": 0.1, "r": 0.5}}},
        "path.recording",
        "burst too",
    ),
    ("a pattern without a rate", PATTERN, {}, "path.recording", "give path.bandwidth"),
    ("an offset behind the end", RATES | {"offset": "8 s"}, {}, "path.recording.offset", "its end, 8 s"),
    ("unknown columns", RATES | {"columns": {"speed": "x"}}, {}, "path.recording.columns", "'speed'"),
    *(
        (f"{name} of opportunities", STEADY | {name: value}, {}, f"path.recording.{name}", "mahimahi")
        for name, value in (("columns", {"rate": "x"}), ("step", "1 s"), ("between", "line"))
    ),
    *(
        (f"{name} of losses", PATTERN | {name: value}, {"path": BANDWIDTH}, f"path.recording.{name}", "losses")
        for name, value in (("offset", "drawn"), ("offset", "1 s"), ("at_end", "cut"), ("scale", 2.0))
    ),
    ("an absent file", {"file": "none.csv"}, {}, "none.csv", "No such file or directory; path.recording.file names"),
    ("an unknown import", {"file": f"sha256:{'0' * 64}"}, {}, f"sha256:{'0' * 64}", "no recording with this hash"),
    ("half a hash", {"file": "sha256:00"}, {}, "sha256:00", "64 hexadecimal digits"),
    ("a scale that leaves nothing", STEADY | {"scale": 1e-9}, {}, "path.recording", "it carries nothing"),
    ("an unknown format", STEADY | {"format": "pcap"}, {}, "path.recording.format", "mahimahi, table, losses"),
    ("a negative offset", STEADY | {"offset": "-1 s"}, {}, "path.recording.offset", "not negative"),
    ("no scale", STEADY | {"scale": 0.0}, {}, "path.recording.scale", "above 0"),
]


@pytest.mark.parametrize(
    ("fields", "changes", "field", "phrase"), [pytest.param(*case, id=name) for name, *case in REFUSED]
)
def test_what_a_recorded_link_cannot_have_is_refused_with_its_field(
    folder: Path, fields: dict[str, Any], changes: dict[str, Any], field: str, phrase: str
) -> None:
    changes = dict(changes)
    file = fields["file"] if fields["file"].startswith("sha256:") else str(folder / fields["file"])
    path = {"recording": fields | {"file": file}} | changes.pop("path", {})
    with pytest.raises((PlanError, SpecError)) as caught:
        runs_of(path, **changes)
    error: LonghaulError = caught.value
    assert field in str(error)
    assert phrase in str(error)
    assert "\n" not in str(error)


def test_a_malformed_file_is_refused_with_its_line(folder: Path) -> None:
    (folder / "steady").write_text("1\n2\nx\n")
    with pytest.raises(PlanError, match="steady: line 3, column 1: 'x' is not a whole number"):
        runs_of(recorded(folder / "steady"))


@pytest.mark.parametrize("content", ["9000\n", "9000\n9001\n", "time_s,rate_bps\n0,0\n9,8000\n10,0\n"])
def test_a_line_that_carries_nothing_within_the_run_is_refused(folder: Path, content: str) -> None:
    file = folder / ("late.csv" if "," in content else "late")
    file.write_text(content)
    with pytest.raises(PlanError, match="it carries nothing within the 5 s of the run"):
        runs_of(recorded(file))


def test_a_line_that_never_carries_anything_is_refused(folder: Path) -> None:
    (folder / "rates.csv").write_text("time_s,rate_bps\n0,0\n1,0\n")
    with pytest.raises(PlanError, match="never carries anything"):
        runs_of(recorded(folder / "rates.csv"))


@pytest.mark.parametrize("between", ["steps", "line"])
@pytest.mark.parametrize("offset", ["0 s", "drawn"])
def test_a_recording_of_nanoseconds_is_refused_at_once(folder: Path, offset: str, between: str) -> None:
    (folder / "tiny.csv").write_text("time_ns,rate_bps\n0,8000\n1,16000\n")
    with pytest.raises(PlanError, match="repeated 2500000000 times in 5 s"):
        runs_of(recorded(folder / "tiny.csv", offset=offset, between=between))


def test_more_rows_than_the_kernel_takes_are_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recordings, "_MOST_ROWS", 4999)
    with pytest.raises(PlanError, match="5000 rows of its opportunities in 5 s, at most 4999 are possible"):
        runs_of(recorded(folder / "steady"))


def test_an_imported_recording_is_found_by_its_hash(folder: Path) -> None:
    sha256 = "ab" * 32
    kept = folder / "cache" / "recordings" / sha256
    kept.mkdir(parents=True)
    shutil.copy(folder / "rates.csv", kept)
    (run,) = runs_of({"recording": {"file": f"sha256:{sha256}"}})
    assert ids(run) == ids(*runs_of(recorded(folder / "rates.csv")))


def test_a_service_takes_imported_recordings_alone(folder: Path) -> None:
    """A caller who may name no file learns nothing about files."""
    data = {
        "experiment": "test",
        "path": {"rtt": "40 ms", "recording": {"file": str(folder / "steady")}},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "5 s",
    }
    with pytest.raises(SpecError, match=r"path\.recording\.file: .*allowed: an imported recording, as sha256:<hash>"):
        parse_experiment(data, own_code=OwnCode.NONE)
    imported = folder / "cache" / "recordings" / ("0" * 64)
    imported.mkdir(parents=True)
    shutil.copy(folder / "steady", imported)
    data["path"] = {"rtt": "40 ms", "recording": {"file": f"sha256:{'0' * 64}"}}
    (run,) = compile_plan(parse_experiment(data, own_code=OwnCode.NONE)).runs
    assert run.links[0].rate_bps == 12_112_000


def test_a_recorded_link_among_others_keeps_its_recording(folder: Path) -> None:
    """Of a parking lot, where `path` describes every bottleneck."""
    (run,) = runs_of(
        BANDWIDTH,
        topology="parking_lot",
        links={"s2-s3": recorded(folder / "steady")},
        flows=[{"name": "one", "cc": "cubic", "count": 4}],
    )
    rates = {link.name: (link.rate_bps, bool(link.offered_bytes)) for link in run.links}
    assert rates["s2-s3"] == (12_112_000, True)
    assert {rate for name, rate in rates.items() if name != "s2-s3"} == {(20_000_000, False)}


def test_rows_that_left_the_cache_are_named(folder: Path) -> None:
    (run,) = runs_of(recorded(folder / "steady"))
    shutil.rmtree(folder / "cache")
    with pytest.raises(BackendError, match="its rows are not in the cache any more; run its experiment again"):
        rows_file(run.recordings[0], folder / "cache")


MODEL: dict[str, Any] = {"model": "lte", "length": "20 s", "parameters": {"snr_db": 15}}


def test_a_model_is_made_once_and_replayed(folder: Path) -> None:
    first, second = runs_of({"recording": MODEL}), runs_of({"recording": MODEL})
    assert [run_id(run, {}) for run in first] == [run_id(run, {}) for run in second]
    (file,) = (folder / "cache" / "recordings" / "models").glob("*.mahi")
    (run,) = runs_of(recorded(file))
    assert [table.file for table in run.recordings] == [table.file for table in first[0].recordings]
    changes: list[dict[str, Any]] = [{"seed": 2}, {"parameters": {"snr_db": 16}}, {"parameters": {}}]
    for change in changes:
        assert runs_of({"recording": MODEL | change})[0].recordings[0].file != run.recordings[0].file
    (satellite,) = runs_of({"recording": {"model": "leo"}})
    assert [table.kind for table in satellite.recordings] == ["rates", "delays", "losses"]


def test_a_sweep_over_a_parameter_of_a_model() -> None:
    runs = runs_of({"recording": MODEL}, sweep={"path.recording.parameters.snr_db": [-5, 5, 15]})
    rates = [run.links[0].rate_bps for run in runs]
    assert rates == sorted(rates) and rates[0] < rates[-1]
    assert runs[0].point == {"path.recording.parameters.snr_db": "-5"}


@pytest.mark.parametrize(
    ("fields", "field", "phrase"),
    [
        ({}, "path.recording", "one of file and model is needed"),
        (MODEL | {"file": "steady"}, "path.recording", "file and model exclude each other"),
        (MODEL | {"step": "1 s"}, "path.recording.step", "no value beside model"),
        (STEADY | {"seed": 2}, "path.recording.seed", "no value beside file"),
        (MODEL | {"model": "5g"}, "path.recording.model", "lte, leo"),
        (MODEL | {"parameters": {"snr": 3}}, "lte", "no parameter 'snr'"),
        (MODEL | {"parameters": {"snr_db": 300}}, "lte", "-20 to 40"),
        (MODEL | {"length": "10 ms"}, "lte", "1 to 604800"),
    ],
)
def test_a_model_that_cannot_be_is_refused(fields: dict[str, Any], field: str, phrase: str) -> None:
    with pytest.raises((PlanError, SpecError)) as caught:
        runs_of({"recording": fields})
    assert field in str(caught.value) and phrase in str(caught.value)


def test_the_models_are_the_generators() -> None:
    assert tuple(GENERATORS) == MODELS
