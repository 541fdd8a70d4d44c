"""Who asked for what, and where it stands: the tables of SQLite or PostgreSQL."""
