"""Files that are not recordings: one error each, with the line, the column and the reason of the first fault."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhaul.orchestrator.recorded_links import text
from longhaul.orchestrator.recorded_links.formats import LOSSES, MAHIMAHI, TABLE
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.recorded_links.text import Malformed
from longhaul.orchestrator.system.errors import PlanError


@dataclass(frozen=True)
class Case:
    """A malformed file: the place of its first fault, if its format has lines, and a phrase of the sentence."""

    name: str
    content: bytes
    phrase: str
    line: int | None = None
    column: int | None = None
    file: str = "link.trace"
    format: str = MAHIMAHI
    columns: Mapping[str, str] = field(default_factory=dict)


def opportunities(name: str, content: bytes, line: int, column: int, phrase: str) -> Case:
    return Case(name, content, phrase, line, column)


def losses(name: str, content: bytes, line: int, column: int, phrase: str) -> Case:
    return Case(name, content, phrase, line, column, "losses.txt", LOSSES)


def csv(
    name: str, content: str | bytes, line: int, column: int, phrase: str, columns: Mapping[str, str] | None = None
) -> Case:
    written = content.encode() if isinstance(content, str) else content
    return Case(name, written, phrase, line, column, "link.csv", TABLE, columns or {})


def parquet(name: str, content: bytes, phrase: str, line: int | None = None, column: int | None = None) -> Case:
    return Case(name, content, phrase, line, column, "link.parquet", TABLE)


def table(columns: Mapping[str, Sequence[object]]) -> bytes:
    buffer = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), buffer)
    return buffer.getvalue()


RATES = "time_s,rate_mbps\n"
WHOLE = "is not a whole number of milliseconds"
RATE = "is not a rate of 0 to 100 Gbit/s"
GOOD = table({"time_s": [0, 1], "rate_mbps": [1.5, 2.5]})
CASES = [
    opportunities("letters", b"1\nabc\n3\n", 2, 1, f"'abc' {WHOLE}"),
    opportunities("a letter behind digits", b"1\n2\n3x\n", 3, 2, f"'3x' {WHOLE}"),
    opportunities("a letter behind blanks", b"1\n  2 x\n", 2, 4, f"'2 x' {WHOLE}"),
    opportunities("two numbers in a line", b"1 2\n", 1, 2, f"'1 2' {WHOLE}"),
    opportunities("a negative number", b"1\n-2\n", 2, 1, f"'-2' {WHOLE}"),
    opportunities("decimals", b"1\n2.5\n", 2, 2, f"'2.5' {WHOLE}"),
    opportunities("an empty line in the middle", b"1\n\n3\n", 2, 1, "an empty line"),
    opportunities("an empty line at the begin", b"\n1\n", 1, 1, "an empty line"),
    opportunities("an empty line at the end", b"1\n2\n\n", 3, 1, "an empty line"),
    opportunities("a line of blanks", b"1\r\n \r\n3\r\n", 2, 1, "an empty line"),
    opportunities("falling", b"1\n5\n4\n", 3, 1, "4 after 5: the milliseconds never fall"),
    opportunities("falling between Windows ends of lines", b"1\r\n5\r\n 4\r\n", 3, 2, "4 after 5"),
    opportunities("too large", b"1\n1000000000001\n", 2, 1, "up to 1000000000000"),
    opportunities("too large for 64 bits of nanoseconds", b"9999999999999\n", 1, 1, "up to 1000000000000"),
    opportunities("thousands of digits", b"1\n" + b"7" * 5000 + b"\n", 2, 1, WHOLE),
    opportunities("binary", bytes(range(128, 256)), 1, 1, WHOLE),
    opportunities("a NUL", b"1\n2\x003\n", 2, 2, f"'2\\x003' {WHOLE}"),
    opportunities("an empty file", b"", 1, 1, "at least one opportunity is needed"),
    opportunities("zeros alone", b"0\n0\n0\n", 1, 1, "all lines are 0"),
    opportunities("digits of other alphabets", "1\n٢\n".encode(), 2, 1, WHOLE),
    csv("endless row", "time_s,rate_mbps\n0" + ",1" * 600_000, 2, 1, "a row of more than 1048576 characters"),
    csv("endless first row", "x" * 2_000_000, 1, 1, "a row of more than 1048576 characters"),
    csv("row of many lines", 'time_s,rate_mbps\n0,"' + '\n","' * 300_000, 2, 1, "a row of more than 1048576"),
    csv("unknown columns", "when,much\n0,1\n", 1, 1, "no column of rates, delays or losses among 'when', 'much'"),
    csv("times alone", "time_s\n0\n", 1, 1, "no column of rates, delays or losses among 'time_s'"),
    csv("two columns of rates", "time_s,rate_mbps,rate_kbps\n0,1,2\n", 1, 3, "'rate_mbps' and 'rate_kbps'"),
    csv("a named column without a unit", "time_s,dl\n0,1\n", 1, 2, "'dl' has no unit: write rate: ", {"rate": "dl"}),
    csv(
        "a named column in an unknown unit",
        "time_s,dl\n0,1\n",
        1,
        2,
        "'parsec' is not a unit of rate (bps, ",
        {"rate": "dl in parsec"},
    ),
    csv(
        "a named column that is absent",
        "time_s,rate_mbps\n0,1\n",
        1,
        1,
        "no column 'ul in Mbit/s' among 'time_s', 'rate_mbps'",
        {"rate": "ul in Mbit/s"},
    ),
    csv("a missing cell", RATES + "0,1\n1\n", 3, 1, "the row ends after 1 of its columns, before 'rate_mbps'"),
    csv("an empty cell", RATES + "0,1\n1,\n", 3, 2, f"'' {RATE}"),
    csv("text in a number", RATES + "0,1\n1,fast\n", 3, 2, f"'fast' {RATE}"),
    csv("a negative rate", RATES + "0,-1\n", 2, 2, f"'-1' {RATE}"),
    csv("a negative time", RATES + "-1,1\n", 2, 1, "'-1' is not a time from 0 on"),
    csv("not a number", RATES + "0,NaN\n", 2, 2, f"'NaN' {RATE}"),
    csv("a signalling NaN", RATES + "0,sNaN\n", 2, 2, f"'sNaN' {RATE}"),
    csv("infinite", RATES + "0,1\n1,inf\n", 3, 2, f"'inf' {RATE}"),
    csv("beyond all arithmetic", RATES + "0,1e999999\n", 2, 2, f"'1e999999' {RATE}"),
    csv("a rate above 100 Gbit/s", "time_s,rate_gbps\n0,100\n1,100.1\n", 3, 2, f"'100.1' {RATE}"),
    csv("a loss above 1", "time_s,loss\n0,0.5\n1,1.5\n", 3, 2, "'1.5' is not a loss of 0 to 1"),
    csv("a loss above 100 percent", "time_s,loss_percent\n0,101\n", 2, 2, "'101' is not a loss of 0 to 1"),
    csv("a delay above an hour", "time_s,delay_s\n0,3601\n", 2, 2, "'3601' is not a delay of 0 to 1 h"),
    csv("a time that stands still", RATES + "0,1\n1,1\n1,2\n", 4, 1, "not after that of the row before"),
    csv("a time that falls", "rate_mbps,time_s\n1,5\n1,4\n", 3, 2, "not after that of the row before"),
    csv("a date", RATES + "2026-01-01,1\n", 2, 1, "'2026-01-01' is not a time from 0 on"),
    csv("more than 31 years", RATES + "0,1\n9999999999,1\n", 3, 1, "more than 31 years"),
    csv("no row", RATES, 2, 1, "no row behind the names of the columns"),
    csv("no row behind a comment", "# mine\n" + RATES, 3, 1, "no row behind the names of the columns"),
    csv("no header", "0,1\n1,2\n", 1, 1, "no column of rates, delays or losses among '0', '1'"),
    csv("an unknown header below a comment", "# mine\nwhen,much\n", 2, 1, "no column of rates"),
    csv("an empty table", "", 1, 1, "it is empty"),
    csv("text behind a quote", RATES + '0,1\n1,"2"x\n', 3, 1, "not CSV"),
    csv("a quote that does not end", RATES + '0,1\n1,"2\n2,3\n3,4\n', 3, 1, "not CSV"),
    csv("not UTF-8", RATES.encode() + b"0,1\n1,2\xff\n", 3, 2, "not UTF-8 text"),
    csv("UTF-16", RATES.encode("utf-16"), 1, 1, "not UTF-8 text"),
    csv("a Parquet file as CSV", b"PAR1\x15\xff\x00", 1, 1, "not UTF-8 text"),
    csv("neither times nor a step", "rate_mbps\n1\n", 1, 1, "no column of times among 'rate_mbps'"),
    parquet("a truncated Parquet file", GOOD[: len(GOOD) // 2], "not a Parquet file"),
    parquet("CSV as Parquet", (RATES + "0,1\n").encode(), "not a Parquet file"),
    parquet("an empty Parquet file", b"", "not a Parquet file"),
    parquet("a null", table({"time_s": [0, 1], "rate_mbps": [1.5, None]}), f"nothing {RATE}", 3, 2),
    parquet("text in Parquet", table({"time_s": [0, 1], "rate_mbps": ["1", "fast"]}), f"'fast' {RATE}", 3, 2),
    parquet("NaN in Parquet", table({"time_s": [0.0], "rate_mbps": [float("nan")]}), f"'nan' {RATE}", 2, 2),
    parquet("lists in Parquet", table({"time_s": [0], "rate_mbps": [[1, 2]]}), f"'[1, 2]' {RATE}", 2, 2),
    parquet("falling times in Parquet", table({"time_s": [1, 0], "loss": [0, 1]}), "not after", 3, 1),
    parquet("unknown names in Parquet", table({"a": [1]}), "no column of rates, delays or losses among 'a'", 1, 1),
    parquet("Parquet without rows", table({"time_s": [], "rate_mbps": []}), "no row behind the names", 2, 1),
    losses("another digit", b"0101\n0121\n", 2, 3, "'2' is neither 0 nor 1"),
    losses("letters for losses", b"lost\n", 1, 1, "'l' is neither 0 nor 1"),
    losses("an empty pattern", b"", 1, 1, "a pattern is made of 0 and 1"),
    losses("a pattern of blanks", b"\r\n \n,\n", 1, 1, "a pattern is made of 0 and 1"),
    losses("a NUL in a pattern", b"0 1\x00\n", 1, 4, "is neither 0 nor 1"),
]
# Each is wrong in a format whatever is in front of it.
_MORE = {MAHIMAHI: b"\n3\nwrong\n-4\n\n", TABLE: b'\n0,-1\nx,y\n0\n1,"2"3\n\xff\xff\n', LOSSES: b"\n2\nx\n"}


def fault(case: Case, folder: Path) -> PlanError:
    path = folder / case.file
    path.write_bytes(case.content)
    with pytest.raises(Malformed) as caught:
        _ = RecordedFile(path, case.format, case.columns).summary
    return caught.value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_the_first_fault_of_a_file_is_named_with_its_place(case: Case, tmp_path: Path) -> None:
    error = fault(case, tmp_path)
    place = f"line {case.line}, column {case.column}: " if case.line is not None else ""
    assert error.what.startswith(place)
    assert case.phrase in error.what
    assert error.subject == str(tmp_path / case.file)
    assert str(error).count("\n") == 0
    assert str(error).count("reading the recording") == 1


def test_every_case_has_its_name() -> None:
    assert len({case.name for case in CASES}) == len(CASES) >= 32


# A file that ends where it is wrong is another file with more behind it.
_AT_THEIR_END = {
    *(
        "an empty file",
        "zeros alone",
        "no row",
        "no row behind a comment",
        "an empty table",
        "an empty line at the end",
    ),
    *("an empty pattern", "a pattern of blanks", "a quote that does not end", "UTF-16"),
}


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if not case.file.endswith(".parquet") and case.name not in _AT_THEIR_END],
    ids=lambda case: case.name,
)
def test_further_faults_do_not_change_the_sentence(case: Case, tmp_path: Path) -> None:
    alone = fault(case, tmp_path)
    more = fault(Case(**{**vars(case), "content": case.content + _MORE[case.format]}), tmp_path)
    assert str(more) == str(alone)


@pytest.mark.parametrize(
    ("kind", "good", "wrong", "column"),
    [
        (MAHIMAHI, b"7\n", b"7x\n", 2),
        (MAHIMAHI, b"7\n", b"6\n", 1),
        (MAHIMAHI, b"7\n", b"\n", 1),
        (LOSSES, b"01\n", b"0-\n", 2),
    ],
)
def test_line_1000001_is_named(kind: str, good: bytes, wrong: bytes, column: int, tmp_path: Path) -> None:
    error = fault(Case("long", good * 1_000_000 + wrong + good, "", file="long.trace", format=kind), tmp_path)
    assert error.what.startswith(f"line 1000001, column {column}: ")


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 7, 64])
def test_faults_behind_many_blocks_are_named(block_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "_BLOCK_BYTES", block_bytes)
    # Longer lines than blocks are another error.
    for wrong, column in (b"x\n", 1), (b"\n", 1), (b"5\n", 1):
        error = fault(Case("opportunities", b"7\n" * 100 + wrong + b"\n", ""), tmp_path)
        assert error.what.startswith(f"line 101, column {column}: "), wrong
    error = fault(losses("losses", b"0 1 1\n\n1\n" * 20 + b"0 1x", 0, 0, ""), tmp_path)
    assert error.what.startswith("line 61, column 4: ")


def test_a_fault_behind_many_rows_of_a_table_is_named(tmp_path: Path) -> None:
    rows = "".join(f"{row}\n" for row in range(100_000))
    path = tmp_path / "link.csv"
    path.write_text("rate_bps\n" + rows + "fast\n")
    with pytest.raises(Malformed, match="line 100002, column 1: 'fast' is not a rate"):
        _ = RecordedFile(path, TABLE, step_ns=1000).summary


def test_a_line_without_end_is_refused_behind_the_lines_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "_BLOCK_BYTES", 64)
    error = fault(Case("long", b"1\n2\n" + b"3" * 1000, ""), tmp_path)
    assert error.what.startswith("line 3, column 1: a line of more than 4 MB")
    error = fault(Case("long", b"1\nx\n" + b"3" * 1000, ""), tmp_path)
    assert error.what.startswith("line 2, column 1: 'x'")


@pytest.mark.parametrize(("kind", "file"), [(MAHIMAHI, "a"), (LOSSES, "a"), (TABLE, "a.csv"), (TABLE, "a.parquet")])
def test_folders_and_absent_files_are_named(kind: str, file: str, tmp_path: Path) -> None:
    with pytest.raises(Malformed, match="No such file"):
        _ = RecordedFile(tmp_path / file, kind).summary
    (tmp_path / file).mkdir()
    with pytest.raises(Malformed) as caught:
        _ = RecordedFile(tmp_path / file, kind).summary
    assert str(tmp_path / file) in str(caught.value)


# Pieces of files that are nearly right.
_PIECES = st.sampled_from(
    (
        *(b"\n", b"\r\n", b"\r", b",", b'"', b" ", b"-", b".", b"_", b"#", b"\x00", b"\xff", b"\xef\xbb\xbf"),
        *(b"0", b"1", b"17", b"e9", b"9" * 30, b"NaN", b"inf", b"\xd9\xa2"),
        *(b"time_s,rate_mbps\n", b"rate_bps,loss"),
    )
)
_BYTES = st.one_of(st.binary(max_size=200), st.lists(_PIECES, max_size=30).map(b"".join))


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made-up")


@pytest.mark.parametrize(
    ("kind", "file"), [(MAHIMAHI, "a"), (LOSSES, "a.losses"), (TABLE, "a.csv"), (TABLE, "stepped.csv")]
)
@given(content=_BYTES)
def test_any_bytes_are_a_recording_or_one_error(made_up: Path, kind: str, file: str, content: bytes) -> None:
    path = made_up / file
    path.write_bytes(content)
    try:
        summary = RecordedFile(path, kind, step_ns=1000 if file.startswith("stepped") else None).summary
    except Malformed as error:
        assert error.what.startswith("line ")
        assert str(error).isprintable()
    else:
        assert summary.rows > 0


@given(place=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255))
def test_a_damaged_parquet_file_is_a_recording_or_one_error(made_up: Path, place: int, byte: int) -> None:
    path = made_up / "damaged.parquet"
    path.write_bytes(GOOD[:place] + bytes([byte]) + GOOD[place + 1 :])
    try:
        summary = RecordedFile(path, TABLE).summary
    except Malformed as error:
        assert "\n" not in str(error)
    else:
        assert summary.rows > 0
