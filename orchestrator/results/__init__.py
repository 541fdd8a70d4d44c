"""Keep and find: what was run, with its traces as Parquet files and its numbers as SQL rows."""
