"""SQL over kept runs: the tables, the reader of a question, and DuckDB, which answers it."""
