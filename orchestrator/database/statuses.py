"""The statuses of runs and experiments, the revision of its tables, the limits of shares and annotations, and the events that users are
notified of: facts that need no database.
"""

from __future__ import annotations

LIVE = ("queued", "running")
KEPT = ("done", "missed")
ENDS = ("done", "missed", "failed", "cancelled")

# The kind of the event that a run has its end.
RUN_FINISHED = "run.finished"

# How long to wait for a file that another process writes to.
PATIENCE_S = 60.0

# The newest revision in migrations/versions; a test compares the two.
HEAD = "0011"

# A link shows this many runs at most, and expires after this many days at most.
MOST_SHARED_RUNS = 50
MOST_SHARED_DAYS = 365

# Of annotations: the longest title, tag and comment in characters, and the most tags.
LONGEST_TITLE, LONGEST_TAG, MOST_TAGS, LONGEST_COMMENT = 200, 50, 20, 10_000
# The events that a subscription may name, the ways to deliver them, and the most subscriptions of one user.
EXPERIMENT_FINISHED, EXPECTATION_MISSED, BASELINE_BROKEN = (
    "experiment.finished",
    "expectation.missed",
    "baseline.broken",
)
NOTIFIED = (EXPERIMENT_FINISHED, EXPECTATION_MISSED, BASELINE_BROKEN)
EMAIL, WEBHOOK = "email", "webhook"
MOST_SUBSCRIPTIONS = 50
