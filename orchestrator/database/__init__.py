"""The database, SQLite or PostgreSQL: experiments, runs, their status, events, access."""
