"""Kept runs: their traces as Parquet files, their numbers as SQL rows."""
