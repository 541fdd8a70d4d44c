"""The formats of recordings, for those who only need their names."""

from __future__ import annotations

from pathlib import Path

MAHIMAHI, TABLE, LOSSES = "mahimahi", "table", "losses"
FORMATS = (MAHIMAHI, TABLE, LOSSES)
# Columns of a table.
COLUMNS = ("time", "rate", "delay", "loss")
# The generators of generators.py.
MODELS = ("lte", "leo")
# Endings of files that are tables; every other file has opportunities unless its format is given.
_TABLES = (".csv", ".parquet")


def format_of(path: Path) -> str:
    """The format of a file whose format is not given."""
    return TABLE if path.suffix in _TABLES else MAHIMAHI
