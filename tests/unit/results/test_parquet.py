"""Parquet in numpy against pyarrow: each reads what the other writes, with this version's settings and earlier ones; damage is an error."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from longhaul.orchestrator.results.conversion import FORMATS
from longhaul.orchestrator.results.parquet import encode_cells, write_columns
from longhaul.orchestrator.results.parquet_reader import FAULTS, ParquetFile
from longhaul.orchestrator.results.traces import ALWAYS_KEPT, write_traces
from longhaul.orchestrator.trace.records import TRACE_KINDS
from tests.support.recordings import recorded

Columns = dict[str, NDArray[Any]]

# How versions of Longhaul wrote, by pyarrow: the last one, and the two before.
FORMER: dict[str, dict[str, Any]] = {
    "differences": {"compression": "lz4", "use_dictionary": False, "write_page_checksum": True},
    "dictionary": {"compression": "zstd", "compression_level": 3, "write_statistics": False},
    "pyarrow's own": {},
}


def numbers(rows: int) -> Columns:
    """A column of every type, with differences of every width, and columns that rise, repeat and jump between their ends."""
    draw = np.random.default_rng(rows)
    columns: Columns = {}
    for name in ("u1", "u2", "u4", "u8", "i4", "i8"):
        dtype = np.dtype(name)
        ends = np.iinfo(dtype)
        columns[f"ends_{name}"] = np.where(draw.random(rows) < 0.5, ends.min, ends.max).astype(dtype)
        columns[f"same_{name}"] = np.full(rows, ends.max, dtype)
        widths = np.arange(rows) * 8 * dtype.itemsize // max(rows, 1)
        columns[f"widths_{name}"] = (
            draw.integers(0, 1 << 63, rows, np.uint64) >> (63 - np.minimum(widths, 63)).astype(np.uint64)
        ).astype(dtype)
    columns["rising"] = np.cumsum(draw.integers(0, 900, rows)).astype(np.uint64)
    return columns


def read_all(path: Path) -> Columns:
    with ParquetFile(path) as file:
        return {name: file.read_all(name) for name in file.names}


def assert_same(found: Columns, expected: Columns) -> None:
    assert list(found) == list(expected)
    for name, column in expected.items():
        assert found[name].dtype == column.dtype, name
        np.testing.assert_array_equal(found[name], column, name)


@pytest.mark.parametrize("rows", [0, 1, 2, 33, 4100, 20_000])
def test_pyarrow_reads_what_longhaul_writes(tmp_path: Path, rows: int) -> None:
    columns = numbers(rows)
    path = tmp_path / "a.parquet"
    write_columns(path, columns, group_rows=7000, with_statistics=("rising", "ends_u2"))
    with pq.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read()
        assert file.metadata.num_row_groups == -(-rows // 7000)
        if rows:
            found = file.metadata.row_group(0).column(table.column_names.index("rising")).statistics
            assert (found.min, found.max) == (columns["rising"][0], columns["rising"][:7000][-1])
            assert file.metadata.row_group(0).column(0).statistics is None
    assert_same({name: table.column(name).to_numpy() for name in table.column_names}, columns)
    assert_same(read_all(path), columns)


@pytest.mark.parametrize("settings", FORMER.values(), ids=FORMER)
@pytest.mark.parametrize("rows", [0, 1, 33, 20_000])
def test_longhaul_reads_what_earlier_versions_wrote(tmp_path: Path, rows: int, settings: dict[str, Any]) -> None:
    columns = numbers(rows)
    wide = {name: "DELTA_BINARY_PACKED" for name, column in columns.items() if column.itemsize >= 4}
    path = tmp_path / "a.parquet"
    encoding = {"column_encoding": wide} if settings.get("use_dictionary") is False else {}
    pq.write_table(pa.table(columns), path, row_group_size=7000, store_schema=False, **settings, **encoding)
    assert_same(read_all(path), columns)


def test_a_trace_takes_no_more_room_than_pyarrow_needs(tmp_path: Path) -> None:
    _, trace, _ = recorded("lossy_pair")
    write_traces(tmp_path, trace)
    former = 0
    for kind, records in trace.kinds().items():
        names = [name for name in TRACE_KINDS[kind].names or () if name != "kind"]
        wide = {name: "DELTA_BINARY_PACKED" for name in names if records[name].itemsize >= 4}
        out = io.BytesIO()
        table = pa.table({name: np.ascontiguousarray(records[name]) for name in names})
        pq.write_table(table, out, column_encoding=wide, store_schema=False, **FORMER["differences"])
        former += len(out.getvalue())
    assert sum((tmp_path / name).stat().st_size for name in ALWAYS_KEPT) <= former


def test_whatever_is_damaged_is_one_error_and_asks_for_no_memory(tmp_path: Path) -> None:
    """Every third byte of the pages' headers and the footer, and cuts; a file without checksums too, where only the lengths are checked."""
    columns = {name: column for name, column in numbers(300).items() if name in ("ends_u2", "same_u8", "rising")}
    mine, former = tmp_path / "mine.parquet", tmp_path / "former.parquet"
    write_columns(mine, columns, group_rows=200, with_statistics=("rising",))
    pq.write_table(pa.table(columns), former, row_group_size=200, store_schema=False)
    damaged = tmp_path / "damaged.parquet"
    draw = random.Random(1)
    errors = 0
    for path in (mine, former):
        whole = path.read_bytes()
        for place in range(0, len(whole), 3):
            changed = bytearray(whole)
            changed[place] ^= 1 << draw.randrange(8)
            damaged.write_bytes(changed)
            try:
                read_all(damaged)
            except FAULTS as error:
                errors += 1
                assert str(error)
        for length in range(0, len(whole), 29):
            damaged.write_bytes(whole[:length])
            with pytest.raises(FAULTS):
                read_all(damaged)
    # Without a checksum, and in statistics and names, some changes remain unseen here; the seal of a kept run finds them.
    assert errors > 500


def test_nested_tables_missing_values_and_other_codecs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for table, settings, message in (
        (pa.table({"a": [[1], [2]]}), {}, "type|nested"),
        (pa.table({"a": pa.array([1, None], pa.int64())}), {"use_dictionary": False}, "lacks values"),
        (pa.table({"a": ["x"]}), {}, "column 'a' has a type"),
        (pa.table({"a": [1]}), {"compression": "gzip"}, "compressed in a way"),
        (pa.table({"a": [1]}), {"use_dictionary": False, "column_encoding": {"a": "BYTE_STREAM_SPLIT"}}, "encoding"),
    ):
        pq.write_table(table, path, **settings)
        with pytest.raises(FAULTS, match=message):
            read_all(path)
    path.write_bytes(b"not parquet at all")
    with pytest.raises(FAULTS, match="does not begin and end"):
        read_all(path)


def test_cells_are_texts_and_numbers_some_of_them_missing() -> None:
    rows: list[list[Any]] = [["reno", 1, 0.5, None], [None, -(2**62), None, None], ["äöü", 3, 2, None]]
    names = ["text", "whole", "fraction", "nothing"]
    read = pq.read_table(io.BytesIO(encode_cells(names, rows * 50)))
    assert read.to_pylist() == [dict(zip(names, row, strict=True)) for row in rows * 50]
    assert [str(field.type) for field in read.schema] == ["string", "int64", "double", "double"]
    assert pq.read_table(io.BytesIO(encode_cells(names, []))).num_rows == 0


def test_csv_and_json_are_those_of_pyarrow(tmp_path: Path) -> None:
    columns = {name: column for name, column in numbers(40_000).items() if column.dtype.kind == "u"}
    file, mine, theirs = tmp_path / "a.parquet", tmp_path / "mine", tmp_path / "theirs"
    write_columns(file, columns, group_rows=30_000)
    FORMATS["csv"](file, mine)
    pyarrow.csv.write_csv(pa.table(columns), theirs)
    assert mine.read_bytes() == theirs.read_bytes()
    FORMATS["json"](file, mine)
    rows = [json.loads(line) for line in mine.read_text().splitlines()]
    assert {name: [row[name] for row in rows] for name in columns} == {
        name: column.tolist() for name, column in columns.items()
    }
