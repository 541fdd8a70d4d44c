"""The statuses of runs and experiments, and the revision of its tables: facts that need no database."""

from __future__ import annotations

LIVE = ("queued", "running")
KEPT = ("done", "missed")
ENDS = ("done", "missed", "failed", "cancelled")

# The kind of the event that a run has its end.
RUN_FINISHED = "run.finished"

# How long to wait for a file that another process writes to.
PATIENCE_S = 60.0

# The newest revision in migrations/versions; a test compares the two.
HEAD = "0009"
