"""Known answers of the readers: rows, units, lengths and means; the same table in two formats; memory."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from longhaul.orchestrator.recorded_links import tables, text
from longhaul.orchestrator.recorded_links.chunks import Chunk
from longhaul.orchestrator.recorded_links.formats import LOSSES, MAHIMAHI, TABLE, format_of
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.recorded_links.replay import Window
from longhaul.orchestrator.recorded_links.summary import find_outages, summarise
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.files import file_sha256
from tests.support.programs import run_program

MS = 10**6
S = 10**9


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(opened: RecordedFile) -> list[tuple[int, ...]]:
    """(instant, its values) of a whole file."""
    found: list[tuple[int, ...]] = []
    for chunk in opened.chunks():
        columns = [chunk.at_ns, chunk.rate_bps, chunk.opportunities, chunk.delay_ns, chunk.loss_2p32]
        found += zip(*(column.tolist() for column in columns if column is not None), strict=True)
    return found


def table(folder: Path, content: str, columns: dict[str, str] | None = None, step_ns: int | None = None) -> Any:
    return rows(RecordedFile(written(folder, "link.csv", content), TABLE, columns or {}, step_ns))


def test_a_line_in_every_millisecond_is_12_megabits(tmp_path: Path) -> None:
    path = written(tmp_path, "12mbit", "".join(f"{ms}\n" for ms in range(1, 5001)))
    summary = RecordedFile(path, MAHIMAHI).summary
    assert (summary.mean_bps, summary.length_ns, summary.rows) == (12e6, 5 * S, 5000)
    assert (summary.opportunities, summary.outage_ns, summary.longest_outage_ns) == (7_500_000, 0, 0)
    assert summary.highest_bps is summary.least_delay_ns is summary.mean_loss is None


def test_a_single_line_is_a_recording(tmp_path: Path) -> None:
    summary = RecordedFile(written(tmp_path, "link", "1"), MAHIMAHI).summary
    assert (summary.mean_bps, summary.length_ns, summary.rows) == (12e6, MS, 1)


@pytest.mark.parametrize("block_bytes", [2, 3, 4, 5, 11, 1 << 22])
def test_opportunities_of_one_millisecond_are_one_row(
    block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_BLOCK_BYTES", block_bytes)
    path = written(tmp_path, "link", "0\n0\n3\n3\n3\n3\n3\n4\n4\n12\n12\n")
    expected = [(0, 3000), (3 * MS, 7500), (4 * MS, 3000), (12 * MS, 3000)]
    assert rows(RecordedFile(path, MAHIMAHI)) == expected


@pytest.mark.parametrize("content", ["1\r\n5\r\n7\r\n", "1\n5\n7", " 1\n\t5 \n7\n", "01\n0005\n00000000000000000007\n"])
def test_ends_of_lines_blanks_and_zeros_in_front_are_allowed(content: str, tmp_path: Path) -> None:
    path = written(tmp_path, "link", content)
    assert rows(RecordedFile(path, MAHIMAHI)) == [(MS, 1500), (5 * MS, 1500), (7 * MS, 1500)]


def test_the_largest_millisecond_is_allowed(tmp_path: Path) -> None:
    path = written(tmp_path, "link", f"1\n{10**12}\n")
    assert rows(RecordedFile(path, MAHIMAHI))[-1] == (10**18, 1500)


def test_outages_are_the_same_however_the_rows_are_divided(tmp_path: Path) -> None:
    rates = np.array([5, 0, 0, 7, 0, 9, 0, 0])
    at_ns = np.arange(len(rates)) * S
    stamps_ns = np.array([1, 2, 300, 350, 500, 501]) * MS
    for cut in range(1, len(rates)):
        parts = [slice(0, cut), slice(cut, None)]
        rows = [Chunk(at_ns[part], rate_bps=rates[part]) for part in parts]
        assert [*find_outages(iter(rows), 8 * S)] == [(S, 3 * S), (4 * S, 5 * S), (6 * S, 8 * S)]
        summary = summarise(iter(rows))
        assert (summary.outages, summary.outage_ns, summary.longest_outage_ns) == (3, 5 * S, 2 * S)
        ones = [np.ones(len(stamps_ns[part]), dtype=np.int64) for part in parts]
        chances = [Chunk(stamps_ns[part], opportunities=one) for part, one in zip(parts, ones, strict=True) if len(one)]
        assert [*find_outages(iter(chances), 501 * MS)] == [(2 * MS, 300 * MS), (350 * MS, 500 * MS)]


def test_a_pattern_with_more_losses_than_a_run_can_have_is_summarised_and_refused(tmp_path: Path) -> None:
    with (tmp_path / "all").open("wb") as file:
        for _ in range(17):
            file.write(b"1" * 1_000_000)
    recorded = RecordedFile(tmp_path / "all", LOSSES)
    assert (recorded.summary.rows, recorded.summary.lost_packets) == (17_000_000, 17_000_000)
    with pytest.raises(PlanError, match="more than 16777216 packets are lost"):
        recorded.replay(Window(0, S))


def test_outages_of_opportunities_are_gaps_above_100_ms(tmp_path: Path) -> None:
    summary = RecordedFile(written(tmp_path, "link", "100\n201\n202\n1000\n"), MAHIMAHI).summary
    assert (summary.outage_ns, summary.longest_outage_ns) == ((101 + 798) * MS, 798 * MS)


def test_columns_are_known_by_their_names_in_any_unit(tmp_path: Path) -> None:
    # 2^-32 is the finest loss.
    expected = [(0, 12_500_000, 24_100_000, 0), (1_500_000_000, 0, 30_000_000, 2**30)]
    for content in (
        "time_s,rate_mbps,delay_ms,loss\n0.0,12.5,24.1,0\n1.5,0,30,0.25\n",
        "loss_percent,latency_us,capacity_kbps,timestamp_ms\n0,24100,12500,0\n25,30000,0,1500\n",
        "t_us,Bandwidth_bps,owd_ns,loss_%\n0,12500000,24100000,0\n1500000,0,3e7,25\n",
        "time_ns,throughput_gbps,one_way_delay_s,loss_share\n0,.0125,.0241,0.0\n1500000000,0.0,0.03,.25\n",
    ):
        found = [tuple(row) for row in table(tmp_path, content)]
        assert sorted(map(sorted, found)) == sorted(map(sorted, expected)), content
        assert found == expected, content


@pytest.mark.parametrize(
    ("columns", "header"),
    [
        ({"time": "at in ms", "rate": "dl in Mbit/s"}, "dl,ul,at"),
        ({"time": "at (ms)", "rate": "DL [Mbit/s]"}, "DL [Mbit/s],ul,at (ms)"),
        ({"time": "at_ms", "rate": "dl_mbps"}, "dl_mbps,rate_mbps,at_ms"),
        ({"time": "measured in office in MS", "rate": "dl in MBPS"}, "dl,ul,measured in office"),
    ],
)
def test_columns_can_be_named_with_their_units(columns: dict[str, str], header: str, tmp_path: Path) -> None:
    assert table(tmp_path, f"{header}\n10,1,5\n20,1,7\n", columns) == [(0, 10_000_000), (2 * MS, 20_000_000)]


@pytest.mark.parametrize(
    ("named", "header", "share"),
    [
        ("lost", "lost", 0.5),
        ("lost in percent", "lost", 0.005),
        ("lost (%)", "lost (%)", 0.005),
        ("lost_percent", "lost_percent", 0.005),
        ("lost in share", "lost", 0.5),
    ],
)
def test_a_loss_is_a_share_unless_it_is_in_percent(named: str, header: str, share: float, tmp_path: Path) -> None:
    ((_, loss),) = table(tmp_path, f"time_s,{header}\n0,0.5\n", {"loss": named})
    assert loss == round(share * 2**32)


def test_a_loss_of_all_packets_fits_in_32_bits(tmp_path: Path) -> None:
    assert table(tmp_path, "time_s,loss\n0,1\n") == [(0, 2**32 - 1)]


def test_times_since_1970_begin_at_0(tmp_path: Path) -> None:
    content = "time_s,rate_bps\n1767225600.25,8\n1767225600.750000001,16\n"
    assert table(tmp_path, content) == [(0, 8), (500_000_001, 16)]


def test_rows_without_times_last_a_step(tmp_path: Path) -> None:
    assert table(tmp_path, "rate_bps\n8\n16\n24\n", step_ns=100 * MS) == [(0, 8), (100 * MS, 16), (200 * MS, 24)]
    summary = RecordedFile(tmp_path / "link.csv", TABLE, step_ns=100 * MS).summary
    assert summary.length_ns == 300 * MS
    assert summary.mean_bps == pytest.approx(16)


def test_a_single_row_lasts_its_step_or_a_second(tmp_path: Path) -> None:
    path = written(tmp_path, "link.csv", "rate_bps\n8\n")
    assert RecordedFile(path, TABLE, step_ns=100 * MS).summary.length_ns == 100 * MS
    path = written(tmp_path, "timed.csv", "time_s,rate_bps\n7,8\n")
    assert RecordedFile(path, TABLE).summary.length_ns == S


def test_steps_continue_behind_a_chunk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS", 2)
    content = "rate_bps\n" + "".join(f"{bps}\n" for bps in range(7))
    assert table(tmp_path, content, step_ns=1000) == [(place * 1000, place) for place in range(7)]


def test_marks_comments_empty_lines_and_blanks_do_not_count(tmp_path: Path) -> None:
    content = "\ufeff# in a train\n\ntime_s , rate_mbps\n# with the new antenna\n0, 1\n\n 1 ,2\r\n# end\n"
    assert table(tmp_path, content) == [(0, MS), (S, 2 * MS)]


def test_further_columns_may_contain_anything(tmp_path: Path) -> None:
    content = 'time_s,place,rate_mbps\n0,"Köln, Hbf",1\n1,"two\nlines",2\n2,,3,4\n'
    assert table(tmp_path, content) == [(0, MS), (S, 2 * MS), (2 * S, 3 * MS)]


def test_a_parquet_file_has_the_rows_of_the_same_csv_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_ROWS", 100)
    draw = np.random.default_rng(1)
    count = 1000
    columns = {
        "time_s": np.cumsum(draw.uniform(0.001, 0.2, count)).round(6).tolist(),
        "rate_mbps": draw.uniform(0, 200, count).round(3).tolist(),
        "delay_ms": draw.uniform(5, 90, count).round(2).tolist(),
        "loss_percent": draw.uniform(0, 100, count).round(4).tolist(),
    }
    lines = (",".join(map(repr, row)) for row in zip(*columns.values(), strict=True))
    csv_file = written(tmp_path, "link.csv", "\n".join([",".join(columns), *lines]))
    parquet_file = tmp_path / "link.parquet"
    # A date with nanoseconds is none of Python.
    dates = pa.array(range(count), pa.timestamp("ns"))
    pq.write_table(pa.table({"date": dates, **columns}), parquet_file, row_group_size=130)
    of_csv, of_parquet = (RecordedFile(path, TABLE) for path in (csv_file, parquet_file))
    assert rows(of_csv) == rows(of_parquet)
    assert len(rows(of_csv)) == count
    assert of_csv.summary == of_parquet.summary


def test_the_last_row_of_a_table_lasts_as_long_as_the_one_before(tmp_path: Path) -> None:
    content = "time_s,rate_mbps,delay_ms,loss\n0,0,10,0\n1,0,20,0.5\n3,10,40,0\n3.5,20,30,0.25\n"
    summary = RecordedFile(written(tmp_path, "link.csv", content), TABLE).summary
    assert (summary.rows, summary.length_ns) == (4, 4 * S)
    assert summary.mean_bps == pytest.approx((10e6 * 0.5 + 20e6 * 0.5) / 4)
    assert (summary.highest_bps, summary.outage_ns, summary.longest_outage_ns) == (20e6, 3 * S, 3 * S)
    assert (summary.least_delay_ns, summary.highest_delay_ns) == (10 * MS, 40 * MS)
    assert summary.mean_delay_ns == pytest.approx((10 + 40 + 20 + 15) / 4 * MS)
    assert summary.mean_loss == pytest.approx((0.5 * 2 + 0.25 * 0.5) / 4)


def test_a_summary_does_not_depend_on_the_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(2)
    content = "time_ms,rate_kbps,delay_ms\n" + "".join(
        f"{at},{draw.integers(0, 3)},{draw.integers(1, 9)}\n" for at in range(0, 900, 3)
    )
    opened = RecordedFile(written(tmp_path, "link.csv", content), TABLE)
    whole = opened.summary
    for size in (1, 2, 7):
        monkeypatch.setattr(tables, "_ROWS", size)
        again = RecordedFile(opened.path, TABLE).summary
        assert (again.rows, again.length_ns, again.highest_bps, again.outage_ns, again.longest_outage_ns) == (
            *(whole.rows, whole.length_ns, whole.highest_bps, whole.outage_ns, whole.longest_outage_ns),
        )
        assert again.mean_bps == pytest.approx(whole.mean_bps)
        assert again.mean_delay_ns == pytest.approx(whole.mean_delay_ns)


@pytest.mark.parametrize("content", ["0100\n1001", "0,1,0,0,1,0,0,1\n", "0 1 0 0\r\n1\t0 0 1\r\n"])
@pytest.mark.parametrize("block_bytes", [1, 3, 1 << 22])
def test_a_pattern_numbers_its_lost_packets(
    content: str, block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_BLOCK_BYTES", block_bytes)
    opened = RecordedFile(written(tmp_path, "losses", content), LOSSES)
    lost, packets = opened.lost
    assert (lost.tolist(), packets) == ([1, 4, 7], 8)
    assert (opened.summary.rows, opened.summary.lost_packets, opened.summary.mean_loss) == (8, 3, 0.375)
    at, value = opened.replay(Window(0, S)).rows["lost_packets"]
    assert (at.tolist(), value.tolist()) == ([1, 4, 7], [1, 1, 1])


def test_a_pattern_may_be_one_long_line(tmp_path: Path) -> None:
    opened = RecordedFile(written(tmp_path, "losses", b"0001" * 3_000_000), LOSSES)
    assert (len(opened.lost[0]), opened.lost[1]) == (3_000_000, 12_000_000)


def test_a_pattern_without_losses_has_no_table(tmp_path: Path) -> None:
    opened = RecordedFile(written(tmp_path, "losses", "0000"), LOSSES)
    assert opened.replay(Window(0, S)).rows == {}
    assert opened.summary.mean_loss == 0


def test_the_format_is_known_by_the_end_of_the_name() -> None:
    found = {name: format_of(Path(name)) for name in ("a.csv", "a.parquet", "a.txt", "Verizon-LTE.down", "a")}
    assert [*found.values()] == [TABLE, TABLE, MAHIMAHI, MAHIMAHI, MAHIMAHI]


def test_the_hash_of_a_file_is_of_its_content(tmp_path: Path) -> None:
    first, second = written(tmp_path, "a", "1\n2\n"), written(tmp_path, "b", "1\n2\n")
    assert file_sha256(first) == file_sha256(second) != file_sha256(written(tmp_path, "c", "1\n2"))


PEAK = r"""
import re, sys
from pathlib import Path
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.recorded_links.replay import Window
from longhaul.orchestrator.recorded_links.summary import find_outages, summarise
from longhaul.orchestrator.system.errors import PlanError
opened = RecordedFile(Path(sys.argv[1]), sys.argv[2])
print(opened.summary.rows)
opened.replay(Window(opened.summary.length_ns // 2, 10**9))
# Not ru_maxrss: a process inherits that of the one that started it.
print(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1])
"""


def peak_of(path: Path, kind: str) -> tuple[int, int]:
    """(rows, megabytes) of a process that reads a file and lays out a run in its middle."""
    done = run_program([sys.executable, "-c", PEAK, str(path), kind], check=True, timeout=300)
    count, kilobytes = map(int, done.stdout.split())
    return count, kilobytes // 1000


def test_100_megabytes_of_opportunities_take_no_more_memory_than_10(tmp_path: Path) -> None:
    def opportunities(name: str, count: int) -> Path:
        path = tmp_path / name
        # Lines of ten bytes.
        with path.open("wb") as file:
            for begin in range(0, count, 1_000_000):
                file.write(b"\n".join(b"%09d" % ms for ms in range(begin, begin + 1_000_000)) + b"\n")
        return path

    shorter, longer = opportunities("short", 1_000_000), opportunities("long", 10_000_000)
    assert longer.stat().st_size == 10 * shorter.stat().st_size == 100_000_000
    (few, before), (many, after) = (peak_of(path, MAHIMAHI) for path in (shorter, longer))
    assert (few, many) == (1_000_000, 10_000_000)
    assert after - before < 20


def test_ten_times_as_long_a_table_takes_no_more_memory(tmp_path: Path) -> None:
    def recorded(name: str, count: int) -> Path:
        return written(
            tmp_path, name, "time_ms,rate_kbps\n" + "".join(f"{row * 10},{row % 9000}\n" for row in range(count))
        )

    (few, before), (many, after) = (peak_of(recorded(f"{count}.csv", count), TABLE) for count in (60_000, 600_000))
    assert (few, many) == (60_000, 600_000)
    assert after - before < 20


def test_ten_times_as_large_a_parquet_file_takes_no_more_memory(tmp_path: Path) -> None:
    def recorded(count: int) -> Path:
        path, draw = tmp_path / f"{count}.parquet", np.random.default_rng(3)
        more = {f"more_{place}": draw.random(count) for place in range(8)}
        known = {"time_ms": np.arange(count), "rate_bps": draw.integers(0, 10**9, count)}
        pq.write_table(pa.table(known | more), path, row_group_size=40_000)
        return path

    (few, before), (many, after) = (peak_of(recorded(count), TABLE) for count in (80_000, 800_000))
    assert (few, many) == (80_000, 800_000)
    assert after - before < 20


def test_chunks_of_a_long_table_are_short(tmp_path: Path) -> None:
    path = written(tmp_path, "link.csv", "rate_bps\n" + "8\n" * 100_000)
    sizes = [len(chunk.at_ns) for chunk in RecordedFile(path, TABLE, step_ns=MS).chunks()]
    assert sum(sizes) == 100_000
    assert max(sizes) < 50_000


def test_a_chunk_has_only_the_columns_of_its_file(tmp_path: Path) -> None:
    path = written(tmp_path, "link.csv", "time_s,delay_ms\n0,1\n")
    (chunk,) = RecordedFile(path, TABLE).chunks()
    assert isinstance(chunk, Chunk)
    assert chunk.rate_bps is chunk.opportunities is chunk.loss_2p32 is None
