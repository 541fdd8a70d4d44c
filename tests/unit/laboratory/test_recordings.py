"""Recordings of links: imports, the numbers of known files, and conversions that keep every byte."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import longhaul
from longhaul.orchestrator.execution.path_twin import MeasuredPath
from longhaul.orchestrator.recorded_links.formats import MAHIMAHI, TABLE
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.recorded_links.replay import Window
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.recordings import recording_file
from longhaul.orchestrator.system.errors import DiskFull, LonghaulError, NotFound, PlanError
from longhaul.orchestrator.system.files import file_sha256
from longhaul.orchestrator.system.settings import load_settings
from tests.support.documents import keep_recorded
from tests.support.recordings import recorded
from tests.unit.analysis.test_recordings import IPERF3, ONE, OTHER, pcap, tcp, transfer

S, MS = 10**9, 10**6
KEY = "ab" * 10

# Half a second of 8 Mbit/s, an outage of half a second, a second of 24 Mbit/s; a row holds as long as the row before it.
TABLE_TEXT = "time_s,rate_mbps,delay_ms,loss\n0,8,20,0\n0.5,0,30,0\n1,24,40,0.5\n1.5,24,50,0.5\n"
MEASURED = MeasuredPath(
    sender="hongkong",
    receiver="chicago",
    at="2024-01-01T00:00:00Z",
    run="0" * 20,
    rate_bps=622_000_000,
    capped=True,
    least_rtt_us=300_001,
    rtt_us={"p50": 300_500.0},
    jitter_us=0,
    queue_us=1000,
    loss=0.0,
    burst=None,
    largest_bytes=1500,
    ecn_kept=True,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "cache"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    (tmp_path / "link.csv").write_text(TABLE_TEXT)
    return tmp_path / "link.csv"


def keep(name: str) -> None:
    """Keep a recorded run."""
    keep_recorded(Store(load_settings()), KEY, name)


def opened(file: Path) -> RecordedFile:
    return RecordedFile(file, TABLE if file.suffix == ".csv" else MAHIMAHI)


def carried(file: Path, edges_ns: Any) -> Any:
    """The bytes of a recording until these instants."""
    recording = opened(file)
    return recording.replay(Window(0, recording.summary.length_ns)).offered_bytes(np.asarray(edges_ns))


def opportunities(draw: np.random.Generator, length_ms: int, mean: float) -> str:
    """Random opportunities with an outage, several at the first and the last instant."""
    counts = draw.poisson(mean, length_ms + 1)
    counts[length_ms // 3 : length_ms // 2] = 0
    counts[[0, -1]] = 2
    return "".join(f"{at}\n" * count for at, count in enumerate(counts.tolist()))


# ---- import and list


def test_an_imported_recording_is_found_by_its_reference(table: Path, cache: Path) -> None:
    found = longhaul.import_recording(table)
    sha256 = file_sha256(table)
    assert (found["reference"], found["name"]) == (f"sha256:{sha256}", "link.csv")
    assert (found["length_s"], found["mean_bps"], found["loss"]) == (2.0, 14e6, 0.25)
    kept = recording_file(found["reference"], cache)
    assert kept == cache / "recordings" / sha256 / "link.csv"
    assert kept.read_text() == TABLE_TEXT
    (row,) = longhaul.recordings()
    assert datetime.fromisoformat(row.pop("kept_at")).tzinfo is not None
    assert row == {"name": "link.csv", "reference": found["reference"], "bytes": len(TABLE_TEXT)}
    assert longhaul.describe_recording(found["reference"])["mean_bps"] == 14e6


def test_a_removed_recording_is_gone_and_comes_back(table: Path, cache: Path) -> None:
    reference = longhaul.import_recording(table)["reference"]
    longhaul.remove_recording(reference)
    assert [*(cache / "recordings").iterdir()] == []
    with pytest.raises(NotFound, match="no recording with this hash is kept here"):
        longhaul.remove_recording(reference)
    with pytest.raises(NotFound, match="it is not sha256: and 64"):
        longhaul.remove_recording(str(table))
    assert table.read_text() == TABLE_TEXT
    assert longhaul.import_recording(table)["reference"] == reference


def test_a_second_import_changes_nothing(table: Path, cache: Path) -> None:
    first = longhaul.import_recording(table)
    before = {file: file.stat().st_mtime_ns for file in cache.rglob("*")}
    table.rename(other := table.with_name("another name.csv"))
    # The name of the first import stays.
    assert longhaul.import_recording(other) == first
    assert longhaul.import_recording(first["reference"]) == first
    assert {file: file.stat().st_mtime_ns for file in cache.rglob("*")} == before


MALFORMED: dict[str, tuple[str, dict[str, Any], str]] = {
    "a.csv": ("time_s,rate_mbps\n0,1\n0,2\n", {}, "line 3, column 1: its time is not after that of the row before"),
    "b.mahi": ("1\n3\n2\n", {}, "line 3, column 1: 2 after 3"),
    "c.mahi": ("", {}, "at least one opportunity is needed"),
    "d.txt": ("0102", {"format": "losses"}, "line 1, column 4: '2' is neither 0 nor 1"),
    "e.csv": ("a,b\n1,2\n", {}, "no column of rates, delays or losses"),
    "f.csv": ("a,b\n1,2\n", {"columns": {"speed": "a"}}, "'speed' is no kind of column; allowed: time, rate"),
    "g.mahi": ("1\n", {"columns": {"rate": "a"}}, "its format is mahimahi, and only tables have columns"),
    "h.csv": ("rate_bps\n1\n", {"step": "soon"}, "'soon' is not a time"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_file_is_not_imported(tmp_path: Path, cache: Path, name: str) -> None:
    text, options, words = MALFORMED[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(PlanError) as error:
        longhaul.import_recording(tmp_path / name, **options)
    assert words in str(error.value)
    assert not cache.exists()
    assert longhaul.recordings() == []


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    for named, words in (
        ("nowhere", "there is no such file"),
        (".", "it is not a file"),
        ("sha256:12", "64 hexadecimal digits"),
        ("sha256:" + "0" * 64, "no recording with this hash was imported here"),
    ):
        with pytest.raises(PlanError, match=words):
            longhaul.import_recording(named)


def test_a_failed_copy_leaves_nothing(table: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(source: Path, target: Path) -> None:
        target.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(DiskFull, match="No space left on device; free some space"):
        longhaul.import_recording(table)
    assert [*(cache / "recordings").iterdir()] == []


def test_tables_with_other_columns_and_patterns_of_losses_are_imported(tmp_path: Path) -> None:
    (tmp_path / "drive.csv").write_text("id,dl in kbit/s\n1,8000\n2,4000\n")
    found = longhaul.import_recording(tmp_path / "drive.csv", columns={"rate": "dl in kbit/s in kbit/s"}, step="1 s")
    assert (found["length_s"], found["mean_bps"]) == (2.0, 6e6)
    (tmp_path / "pattern").write_text("0010\n")
    found = longhaul.import_recording(tmp_path / "pattern", format="losses")
    assert (found["packets"], found["lost_packets"], found["loss"]) == (4, 1, 0.25)


# ---- describe


def test_the_numbers_of_a_known_table(table: Path) -> None:
    found = longhaul.describe_recording(table)
    assert (found["length_s"], found["mean_bps"], found["highest_bps"], found["loss"]) == (2.0, 14e6, 24e6, 0.25)
    assert found["outages"] == {"count": 1, "longest_s": 0.5, "total_s": 0.5}
    assert found["delay_ms"] == {"least": 20.0, "mean": 35.0, "highest": 50.0}
    shown = found["shown"]
    assert (shown["from_s"], shown["to_s"], shown["every_s"]) == (0.0, 2.0, 0.005)
    assert shown["rate_bps"] == pytest.approx([8e6] * 100 + [0.0] * 100 + [24e6] * 200)
    assert shown["delay_ms"] == pytest.approx([20.0] * 100 + [30.0] * 100 + [40.0] * 100 + [50.0] * 100)
    assert shown["loss"] == pytest.approx([0.0] * 200 + [0.5] * 200)
    assert shown["outage"] == pytest.approx([0.0] * 100 + [1.0] * 100 + [0.0] * 200)


def test_a_part_has_the_values_of_the_whole(table: Path) -> None:
    shown = longhaul.describe_recording(table, begin="400 ms", length="1s")["shown"]
    assert (shown["from_s"], shown["to_s"], shown["every_s"]) == (0.4, 1.4, 0.005)
    assert shown["rate_bps"] == pytest.approx([8e6] * 20 + [0.0] * 100 + [24e6] * 80)
    assert shown["outage"] == pytest.approx([0.0] * 20 + [1.0] * 100 + [0.0] * 80)
    # It ends where the recording does.
    assert longhaul.describe_recording(table, begin="1 s", length="1 h")["shown"]["to_s"] == 2.0
    for begin, length, words in (("2 s", "1 s", "2 s is not before its end"), ("0 s", "0 s", "0 s is empty")):
        with pytest.raises(PlanError, match=words):
            longhaul.describe_recording(table, begin=begin, length=length)


def test_the_numbers_of_known_opportunities(tmp_path: Path) -> None:
    """Outages of 300 ms at the begin and 200 ms at the end, one packet each millisecond between, two at its end."""
    file = tmp_path / "link"
    file.write_text("".join(f"{at}\n" for at in [*range(300, 801), 800, 1000]))
    found = longhaul.describe_recording(file)
    assert found["mean_bps"] == 503 * 12_000
    assert found["highest_bps"] == 101 * 1500 * 8 / 0.1
    assert found["outages"] == {"count": 2, "longest_s": 0.3, "total_s": 0.5}
    assert sum(found["shown"]["rate_bps"]) * found["shown"]["every_s"] / 8 == pytest.approx(503 * 1500)
    # A part without any opportunity, and one before the first.
    for begin in ("900 ms", "100 ms"):
        part = longhaul.describe_recording(file, begin=begin, length="50 ms")["shown"]
        assert set(part["rate_bps"]) == {0.0} and set(part["outage"]) == {1.0}


def test_only_the_first_hour_of_a_long_recording_is_shown(tmp_path: Path) -> None:
    (tmp_path / "long.csv").write_text("time_s,rate_bps\n0,8000\n7200,0\n")
    found = longhaul.describe_recording(tmp_path / "long.csv")
    assert (found["length_s"], found["shown"]["to_s"], found["outages"]["total_s"]) == (14_400, 3600, 7200)
    assert len(found["shown"]["rate_bps"]) == 360


# ---- convert


@pytest.mark.parametrize(("length_ms", "mean"), [(60_000, 0.7), (30_017, 3.0), (70, 5.0), (4_321, 0.02)])
@pytest.mark.parametrize("every_ms", [100, 7, 1000])
def test_opportunities_as_a_table_and_back_keep_every_byte(
    tmp_path: Path, length_ms: int, mean: float, every_ms: int
) -> None:
    first, table, second = (tmp_path / name for name in ("a.txt", "b.csv", "c.mahi"))
    first.write_text(opportunities(np.random.default_rng(1), length_ms, mean))
    longhaul.convert_recording(first, table, every=f"{every_ms} ms")
    longhaul.convert_recording(table, second)
    lengths = [opened(file).summary.length_ns for file in (first, table, second)]
    assert lengths == [length_ms * MS] * 3
    # At the end of every interval, and in every second if these are ends of intervals.
    edges_ns = np.append(np.arange(every_ms, length_ms, every_ms), length_ms) * MS
    counts = [carried(file, edges_ns) for file in (first, table, second)]
    assert abs(counts[0] - counts[1]).max() <= 1
    assert abs(counts[0] - counts[2]).max() <= 1500
    assert abs(np.diff(counts[0]) - np.diff(counts[2])).max(initial=0) <= 1500


def test_a_table_as_opportunities_keeps_every_byte(table: Path, tmp_path: Path) -> None:
    notes: list[str] = []
    longhaul.convert_recording(table, tmp_path / "a.mahi", report=notes.append)
    assert notes == ["delays and losses of the recording are left out"]
    edges_ns = np.arange(1, 21) * 100 * MS
    assert abs(carried(table, edges_ns) - carried(tmp_path / "a.mahi", edges_ns)).max() < 1500
    # 8 Mbit/s are a packet in 1.5 ms, each at the end of its last millisecond.
    assert (tmp_path / "a.mahi").read_text().split()[:4] == ["2", "3", "5", "6"]


def test_a_recording_of_many_parts_is_the_same_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(2)
    rows = zip(np.cumsum(draw.integers(1, 300, 2000)).tolist(), draw.integers(0, 10**7, 2000).tolist(), strict=True)
    (tmp_path / "a.csv").write_text("time_ms,rate_bps\n0,5\n" + "".join(f"{at},{bps}\n" for at, bps in rows))
    longhaul.convert_recording(tmp_path / "a.csv", tmp_path / "whole.mahi")
    longhaul.convert_recording(tmp_path / "whole.mahi", tmp_path / "whole.csv")
    monkeypatch.setattr("longhaul.orchestrator.recorded_links.tables._ROWS", 37)
    monkeypatch.setattr("longhaul.orchestrator.recorded_links.text._BLOCK_BYTES", 101)
    monkeypatch.setattr("longhaul.laboratory.recording_sources._BLOCK", 13)
    longhaul.convert_recording(tmp_path / "a.csv", tmp_path / "parts.mahi")
    longhaul.convert_recording(tmp_path / "parts.mahi", tmp_path / "parts.csv")
    for ending in ("mahi", "csv"):
        assert (tmp_path / f"whole.{ending}").read_text() == (tmp_path / f"parts.{ending}").read_text()


@pytest.mark.parametrize("name", ["lossy_pair", "two_queues"])
@pytest.mark.parametrize("every_ms", [100, 70])
def test_a_kept_run_gives_the_bytes_that_left_its_link(tmp_path: Path, name: str, every_ms: int) -> None:
    keep(name)
    run, trace, _ = recorded(name)
    output, notes = tmp_path / "run.csv", list[str]()
    longhaul.convert_recording(KEY[:4], output, every=f"{every_ms} ms", report=notes.append)
    assert "frames that left bottleneck" in notes[0] and "only while the transfer filled the path" in notes[1]
    rows = trace.links[trace.links["id"] == 0]
    assert opened(output).summary.length_ns == run.duration_us * 1000
    edges_ns = np.append(np.arange(every_ms, run.duration_us // 1000, every_ms), run.duration_us // 1000) * MS
    # The record of a tick is written a nanosecond after it.
    place = np.searchsorted(rows["t_ns"] // 1000, edges_ns // 1000, side="right") - 1
    sent = np.where(place >= 0, rows["tx_bytes"][np.maximum(place, 0)], 0).astype(np.int64)
    assert sent[-1] == rows["tx_bytes"].max()
    assert abs(carried(output, edges_ns) - sent).max() <= 1
    # Opportunities of the same bytes.
    longhaul.convert_recording(KEY, tmp_path / "run.mahi", link="bottleneck")
    assert abs(int(carried(tmp_path / "run.mahi", [run.duration_us * 1000])[0]) - int(sent[-1])) <= 1500


def test_packets_arrive_when_they_are_acknowledged(tmp_path: Path) -> None:
    for name, content in (("a.pcap", pcap(transfer())), ("b.pcap.gz", gzip.compress(pcap(transfer())))):
        (tmp_path / name).write_bytes(content)
        notes: list[str] = []
        longhaul.convert_recording(tmp_path / name, tmp_path / "a.csv", every="10 ms", report=notes.append)
        # From the first data at 50 ms: 1000 bytes at 90, 100 and 110 ms, then all others at 200 ms.
        edges_ns = np.arange(1, 16) * 10 * MS
        expected = [0] * 3 + [1000, 2000] + [3000] * 9 + [10_000]
        assert carried(tmp_path / "a.csv", edges_ns).tolist() == expected
        assert opened(tmp_path / "a.csv").summary.length_ns == 150 * MS
        assert notes[-1].startswith("a rate that a transfer reached is the capacity of its path only while")


def test_transfers_in_opposite_directions_are_not_added(tmp_path: Path) -> None:
    back = [
        (t_ns + 1, tcp(True, 1000 + number * 1000, 0, 1000, ends=(OTHER, ONE))) for number, t_ns in enumerate((0, S))
    ]
    (tmp_path / "both.pcap").write_bytes(pcap(sorted(transfer() + back)))
    with pytest.raises(PlanError, match=r"opposite directions.*--flow; its transfers: 10\.0\.0"):
        longhaul.convert_recording(tmp_path / "both.pcap", tmp_path / "a.csv")
    longhaul.convert_recording(tmp_path / "both.pcap", tmp_path / "a.csv", flow="10.0.0.1:40000 to")
    assert int(carried(tmp_path / "a.csv", [opened(tmp_path / "a.csv").summary.length_ns])[0]) == 10_000


def test_iperf3_and_flent_give_the_bytes_of_each_interval(tmp_path: Path) -> None:
    (tmp_path / "iperf3.json").write_text(json.dumps(IPERF3))
    notes: list[str] = []
    longhaul.convert_recording(tmp_path / "iperf3.json", tmp_path / "a.csv", every="1 s", report=notes.append)
    assert (tmp_path / "a.csv").read_text() == "time_s,rate_bps\n0,16000\n1,24000\n"
    assert any("bytes that its sender wrote" in note for note in notes)
    assert not any("smoothed" in note for note in notes)
    flent = {
        "metadata": {},
        "x_values": [1, 2, 3],
        "results": {"TCP upload::1": [8, 16, 0], "TCP upload::2": [0, 8, 8], "TCP download::1": [1, 1, 1]},
    }
    (tmp_path / "a.flent").write_text(json.dumps(flent))
    with pytest.raises(PlanError, match="opposite directions"):
        longhaul.convert_recording(tmp_path / "a.flent", tmp_path / "b.csv")
    longhaul.convert_recording(
        tmp_path / "a.flent", tmp_path / "b.csv", flow="upload", every="1 s", report=notes.append
    )
    assert (tmp_path / "b.csv").read_text().split()[1:] == ["0,8000000", "1,24000000", "2,8000000"]
    assert "the rates are the sum of TCP upload::1, TCP upload::2" in notes


def test_a_measured_path_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "path.json").write_text(json.dumps({**MEASURED.as_document(), "experiment": "twin.yaml"}))
    notes: list[str] = []
    longhaul.convert_recording(tmp_path / "path.json", tmp_path / "a.csv", every="1 s", report=notes.append)
    assert (tmp_path / "a.csv").read_text() == "time_s,rate_bps,delay_ms\n0,622000000,150\n"
    assert any("the path may carry more" in note for note in notes)
    longhaul.convert_recording(tmp_path / "path.json", tmp_path / "a.mahi", report=notes.append)
    assert int(carried(tmp_path / "a.mahi", [S])[0]) == pytest.approx(622e6 / 8, abs=1500)
    assert "a .mahi file has no delays" in notes[-1]


REFUSED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "ending": (lambda file: longhaul.convert_recording(file, "out.txt"), "ends in neither .csv nor .mahi"),
    "same format": (lambda file: longhaul.convert_recording(file, "out.csv"), "its format is table already"),
    "intervals": (lambda file: longhaul.convert_recording(file, "out.mahi", every="1 s"), "a .mahi file has no interv"),
    "short": (lambda file: longhaul.convert_recording("link", "out.csv", every="1 us"), "1 us are too short"),
    "no time": (lambda file: longhaul.convert_recording("link", "out.csv", every="often"), "'often' is not a time"),
    "long": (lambda file: longhaul.convert_recording("endless", "out.csv"), "more than 100000000 intervals of 0.1 s"),
    "nothing": (lambda file: longhaul.convert_recording("no such", "out.csv"), "neither a file nor the beginning of a"),
    "folder": (lambda file: longhaul.convert_recording("cache", "out.csv"), "it is a folder"),
    "link": (lambda file: longhaul.convert_recording(file, "out.mahi", link="a"), "only a kept run has links"),
    "flow": (lambda file: longhaul.convert_recording(file, "out.mahi", flow="a"), "it has no flows"),
    "other JSON": (lambda file: longhaul.convert_recording("other.json", "out.csv"), "it is JSON of another program"),
    "broken JSON": (lambda file: longhaul.convert_recording("broken.json", "out.csv"), "it is JSON of another program"),
    "odd path": (lambda file: longhaul.convert_recording("odd.json", "out.csv"), "its rate_bps is 0"),
    "broken": (lambda file: longhaul.convert_recording("cut.pcap", "out.csv"), "it ends within a packet"),
    "transfer": (
        lambda file: longhaul.convert_recording("a.pcap", "out.csv", flow="x"),
        "it has no transfer x; its tran",
    ),
    "still": (lambda file: longhaul.convert_recording("still.csv", "out.mahi"), "less than one packet of 1500 bytes"),
    "delays": (lambda file: longhaul.convert_recording("delays.csv", "out.mahi"), "it has no rates"),
    "folder of output": (lambda file: longhaul.convert_recording(file, "no/out.mahi"), "there is no folder no"),
}


@pytest.mark.parametrize("why", REFUSED)
def test_a_refused_conversion_writes_nothing(table: Path, tmp_path: Path, cache: Path, why: str) -> None:
    cache.mkdir()
    for name, text in (
        ("link", "1\n2\n"),
        ("endless", "1\n1000000000000\n"),
        ("other.json", '{"runs": []}'),
        ("broken.json", "{"),
        ("odd.json", json.dumps(MEASURED.as_document() | {"rate_bps": 0})),
        ("still.csv", "time_s,rate_bps\n0,0\n1,10\n"),
        ("delays.csv", "time_s,delay_ms\n0,1\n"),
    ):
        (tmp_path / name).write_text(text)
    (tmp_path / "a.pcap").write_bytes(pcap(transfer()))
    (tmp_path / "cut.pcap").write_bytes(pcap(transfer())[:-5])
    before = sorted(tmp_path.rglob("*"))
    refused, words = REFUSED[why]
    with pytest.raises(LonghaulError) as error:
        refused(table)
    assert words in str(error.value)
    assert error.value.exit_code == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_a_kept_run_has_links_and_an_id() -> None:
    keep("lossy_pair")
    with pytest.raises(PlanError, match="it has no link s9; its links: bottleneck"):
        longhaul.convert_recording(KEY, "out.csv", link="s9")
    with pytest.raises(PlanError, match="a link is converted, not a flow"):
        longhaul.convert_recording(KEY, "out.csv", flow="first")
    with pytest.raises(NotFound, match="no kept run has an id that begins with it"):
        longhaul.convert_recording("abcd0", "out.csv")


# ---- generate


@pytest.mark.parametrize(("name", "file"), [("lte", "a.mahi"), ("leo", "a.csv")])
def test_a_generated_file_is_a_recording_of_its_length(tmp_path: Path, name: str, file: str) -> None:
    longhaul.generate_recording(name, tmp_path / file, length="20 s", seed=3)
    text = (tmp_path / file).read_text()
    assert longhaul.import_recording(tmp_path / file)["length_s"] == 20
    longhaul.generate_recording(name, tmp_path / file, length="20 s", seed=3)
    assert (tmp_path / file).read_text() == text
    longhaul.generate_recording(name, tmp_path / file, length="20 s", seed=4)
    assert (tmp_path / file).read_text() != text


@pytest.mark.parametrize(
    ("name", "file", "options", "words"),
    [
        ("leo", "a.mahi", {}, "does not end in .csv"),
        ("lte", "a.csv", {}, "name a .mahi file"),
        ("lte", "a.parquet", {}, "name a .mahi file"),
        ("let", "a.mahi", {}, "no such generator"),
        ("lte", "a.mahi", {"parameters": {"snr": 1}}, "no parameter 'snr'"),
        ("lte", "a.mahi", {"length": "long"}, "'long' is not a time"),
        ("lte", "no/a.mahi", {}, "there is no folder no"),
    ],
)
def test_a_refused_generation_writes_nothing(
    tmp_path: Path, name: str, file: str, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(PlanError, match=words):
        longhaul.generate_recording(name, file, **options)
    assert [*tmp_path.iterdir()] == []
