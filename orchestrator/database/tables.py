"""The tables of the database; queries are in the other modules of this folder.

    experiments ---< experiment_runs >--- runs --- documents   what a finished run came to
         |                                  |----- work        what a run that is still wanted needs
         '--------------< events >----------'----- measures    every number of its document, a row each
    runs ---< run_words >--- words      run_counts        follow from the rows of runs
    annotations ---< annotation_words          titles, tags and comments of runs and experiments
    subscriptions ---< deliveries                         messages about experiments, until they are pruned
    tokens ---< sessions      audit      leases      workers      baselines      spans      exporters      counts

A run's id is the hash of all that determines its result, so two experiments that want the same run share a row.
Times that people read are ISO 8601 in UTC (they sort as text); times that are compared with a clock are seconds since 1970.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

# No id is larger; PostgreSQL compares its integers with no larger ones.
LARGEST_ID = 2**31 - 1

METADATA = MetaData()

_RESULTS = ("goodput_bps", "rtt_mean_ms", "loss_ratio", "utilisation", "jain", "virtual_s", "wall_s", "started_at", "finished_at", "seed")  # fmt: skip

# A run in `queued` or `running` has its plan, and no result.
RUNS = Table(
    "runs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("experiment", String(128), nullable=False),
    Column("status", String(16), nullable=False),
    Column("backend", String(16), nullable=False),
    Column("kernel", String(64), nullable=False),
    # 32 bits without a sign.
    Column("seed", BigInteger, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("virtual_s", Float, nullable=False),
    Column("wall_s", Float),
    Column("trace_sha256", String(64)),
    Column("measured_by", String(16)),
    Column("point", Text, nullable=False),
    Column("owner", String(64)),
    Column("pinned", Boolean, nullable=False, server_default="0"),
    Column("started_at", String(32)),
    Column("finished_at", String(32)),
    # What lists show and are searched by (search_fields.py); runs from before these columns have no path here.
    Column("topology", String(128)),
    Column("bandwidth_bps", BigInteger),
    Column("rtt_us", BigInteger),
    Column("utilisation", Float),
    Column("jain", Float),
    # The goodput of all flows together, and the means of the flows' round trips and losses.
    Column("goodput_bps", Float),
    Column("rtt_mean_ms", Float),
    Column("loss_ratio", Float),
    # Keys of texts: its programs, and the names of its measures (shared_texts.py).
    Column("identity", String(16)),
    Column("measured", String(16)),
    Column("controls", Text, nullable=False, server_default=""),
    Column("words", Text, nullable=False, server_default=""),
    # Each holds the words, so that a search for a frequent part of words reads an index and no rows but those of its page.
    Index("runs_by_experiment", "experiment", "created_at", "id", "words"),
    Index("runs_by_time", "created_at", "id", "words"),
    Index("runs_by_status", "status", "created_at", "id", "words"),
    Index("runs_by_owner", "owner", "created_at", "id"),
    Index("runs_by_end", "finished_at"),
    Index("runs_by_pin", "pinned", "created_at", "id"),
    # All that lists are sorted by, so that a sort reads this index and no rows but those of its page.
    Index("runs_by_result", *_RESULTS, "created_at", "id"),
)

# Texts that many runs have in common, by the hash of each.
SHARED_TEXTS = Table(
    "shared_texts",
    METADATA,
    Column("key", String(16), primary_key=True),
    Column("text", Text, nullable=False),
)

# The index of the words of runs (word_index.py); without references, since it repeats the lines.
WORDS = Table(
    "words",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("word", Text, nullable=False),
    # Of a field's value: lists are sorted by it.
    Column("number", Float),
    UniqueConstraint("word", name="words_once"),
)
RUN_WORDS = Table(
    "run_words",
    METADATA,
    Column("word_id", Integer, primary_key=True, autoincrement=False),
    Column("created_at", String(32), primary_key=True),
    Column("run_id", String(32), primary_key=True),
    sqlite_with_rowid=False,
)

# How many runs there are in each status: triggers of the database count, in the transaction that changes the rows (revision 0007).
RUN_COUNTS = Table(
    "run_counts",
    METADATA,
    Column("status", String(16), primary_key=True),
    Column("runs", Integer, nullable=False),
)

# Tables that follow from others: a backup leaves them out.
DERIVED = (WORDS, RUN_WORDS, RUN_COUNTS)

DOCUMENTS = Table(
    "documents",
    METADATA,
    Column("run_id", String(32), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("document", Text, nullable=False),
)

MEASURES = Table(
    "measures",
    METADATA,
    Column("run_id", String(32), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("flow", String(128), primary_key=True),
    Column("measure", String(64), primary_key=True),
    Column("value", Float, nullable=False),
)

# A row for as long as the run is wanted and not kept. `fence` counts the claims: the holder of an older one is too late.
_BATCHES = ("owner", "queued_s", "priority", "needs", "position", "run_id", "claimed_by", "lease_until_s")
WORK = Table(
    "work",
    METADATA,
    Column("run_id", String(32), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("run", LargeBinary, nullable=False),
    Column("owner", String(64), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("queued_s", Float, nullable=False),
    Column("position", Integer, nullable=False),
    Column("needs", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("fence", Integer, nullable=False),
    Column("claimed_by", String(128)),
    Column("lease_until_s", Float),
    Column("cancel", Boolean, nullable=False),
    Column("progress_s", Float, nullable=False),
    Index("work_in_order", "claimed_by", "priority", "queued_s"),
    # All that the next run is chosen by, so that a choice reads this index and one row.
    Index("work_in_batches", *_BATCHES),
)

EXPERIMENTS = Table(
    "experiments",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("name", String(128), nullable=False),
    Column("about", Text, nullable=False),
    Column("owner", String(64), nullable=False),
    Column("status", String(16), nullable=False),
    Column("priority", Integer, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("finished_at", String(32)),
    Column("total", Integer, nullable=False),
    Column("cached", Integer, nullable=False),
    Column("done", Integer, nullable=False),
    Column("missed", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("cancelled", Integer, nullable=False),
    Column("aggregate", String(16), nullable=False),
    Column("spec", Text, nullable=False),
    Column("lint", Text, nullable=False),
    Column("asked", Text, nullable=False),
    Column("idempotency_key", String(128)),
    Column("asked_sha256", String(64), nullable=False),
    Column("first_event", Integer, nullable=False),
    Column("backend", String(16), nullable=False, server_default=""),
    Column("controls", Text, nullable=False, server_default=""),
    Column("words", Text, nullable=False, server_default=""),
    UniqueConstraint("owner", "idempotency_key", name="experiments_asked_once"),
    Index("experiments_by_time", "created_at", "id", "words"),
)

EXPERIMENT_RUNS = Table(
    "experiment_runs",
    METADATA,
    Column("experiment_id", String(32), ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True),
    # The run may have been pruned since.
    Column("run_id", String(32), nullable=False),
    Column("cached", Boolean, nullable=False),
    # The end of the run that the experiment has counted; none while it waits.
    Column("counted", String(16)),
    Index("experiments_of_run", "run_id"),
)

EVENTS = Table(
    "events",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", String(32), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("experiment_id", String(32)),
    Column("run_id", String(32)),
    Column("data", Text, nullable=False),
    Index("events_of_experiment", "experiment_id", "id"),
    Index("events_of_run", "run_id", "id"),
    # An id is never given twice, also after the newest rows were deleted: followers resume by it.
    sqlite_autoincrement=True,
)

LEASES = Table(
    "leases",
    METADATA,
    Column("name", String(128), primary_key=True),
    Column("holder", String(128)),
    Column("fence", Integer, nullable=False),
    Column("until_s", Float, nullable=False),
    Column("about", Text, nullable=False),
    # When its holder got it.
    Column("since_s", Float, nullable=False, server_default="0"),
)

# Workers, and the time of their last report.
WORKERS = Table(
    "workers",
    METADATA,
    Column("name", String(128), primary_key=True),
    Column("dispatcher", String(128), nullable=False),
    Column("machine", String(128), nullable=False),
    Column("slots", Integer, nullable=False),
    Column("needs", String(64), nullable=False),
    Column("version", String(32), nullable=False),
    Column("since_s", Float, nullable=False),
    Column("at_s", Float, nullable=False),
)

TOKENS = Table(
    "tokens",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("name", String(64), nullable=False),
    Column("digest", String(64), nullable=False),
    Column("scope", String(8), nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("expires_s", Float),
    Column("revoked_at", String(32)),
    Index("tokens_by_name", "name"),
)

SESSIONS = Table(
    "sessions",
    METADATA,
    Column("digest", String(64), primary_key=True),
    Column("token_id", String(16), ForeignKey("tokens.id", ondelete="CASCADE"), nullable=False),
    Column("expires_s", Float, nullable=False),
)

# What a token of the scope `shared` may read: runs, as JSON, or an experiment with its runs.
SHARES = Table(
    "shares",
    METADATA,
    Column("token_id", String(16), ForeignKey("tokens.id", ondelete="CASCADE"), primary_key=True),
    Column("owner", String(64), nullable=False),
    Column("runs", Text, nullable=False),
    Column("experiment_id", String(32)),
)

# What a user wants to be notified of, and how. Of a webhook with the secret that signs its messages.
SUBSCRIPTIONS = Table(
    "subscriptions",
    METADATA,
    Column("id", String(16), primary_key=True),
    Column("owner", String(64), nullable=False),
    # Whether a reverse proxy named the owner, who may have no token.
    Column("by_proxy", Boolean, nullable=False),
    Column("way", String(16), nullable=False),
    Column("target", Text, nullable=False),
    Column("secret", String(64)),
    # As JSON; so are the measures that decide whether a baseline is broken.
    Column("events", Text, nullable=False),
    Column("experiment_id", String(32)),
    Column("name", String(128), nullable=False),
    Column("everyone", Boolean, nullable=False),
    Column("branch", String(128), nullable=False),
    Column("measures", Text, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("tried_s", Float, nullable=False),
    Column("last_at", String(32)),
    Column("last_event", String(32)),
    Column("last_status", String(16)),
    Column("last_answer", Text),
    Index("subscriptions_by_owner", "owner"),
)

# A message, from the transaction of its event on. `attempts` counts the claims: the holder of an older one is too late.
DELIVERIES = Table(
    "deliveries",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("subscription_id", String(16), ForeignKey("subscriptions.id", ondelete="CASCADE"), nullable=False),
    Column("event", String(32), nullable=False),
    Column("experiment_id", String(32), nullable=False),
    # What is known of the event in its transaction; from the first attempt on the whole message, which repeats are equal to.
    Column("facts", Text, nullable=False),
    Column("message", Text),
    Column("made_at", String(32), nullable=False),
    Column("status", String(16), nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_s", Float, nullable=False),
    Column("claimed_by", String(128)),
    Column("lease_until_s", Float),
    UniqueConstraint("subscription_id", "event", "experiment_id", name="deliveries_once"),
    Index("deliveries_in_order", "status", "due_s"),
)

AUDIT = Table(
    "audit",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", String(32), nullable=False),
    Column("actor", String(64), nullable=False),
    Column("address", String(64), nullable=False),
    Column("action", String(64), nullable=False),
    Column("subject", String(256), nullable=False),
    Column("outcome", Integer, nullable=False),
    Column("request_id", String(64), nullable=False),
)

# What people write about a run or an experiment, by its id (annotations.py).
ANNOTATIONS = Table(
    "annotations",
    METADATA,
    Column("subject", String(32), primary_key=True),
    Column("title", String(200), nullable=False),
    Column("tags", Text, nullable=False),
    Column("comment", Text, nullable=False),
    Column("changed_at", String(32), nullable=False),
    Column("changed_by", String(64)),
)
ANNOTATION_WORDS = Table(
    "annotation_words",
    METADATA,
    Column("word", String(256), primary_key=True),
    Column("subject", String(32), ForeignKey("annotations.subject", ondelete="CASCADE"), primary_key=True),
    Index("annotation_words_by_subject", "subject"),
)

# The experiment that others are compared with, by the branch that it was measured on.
BASELINES = Table(
    "baselines",
    METADATA,
    Column("name", String(128), primary_key=True),
    Column("branch", String(128), primary_key=True),
    Column("experiment_id", String(32), ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
    Column("set_at", String(32), nullable=False),
    Column("set_by", String(64), nullable=False),
)

# A run's place on Prometheus' time axis; it stays when the run is deleted.
SPANS = Table(
    "spans",
    METADATA,
    Column("run_id", String(32), primary_key=True),
    Column("begin_ms", BigInteger, nullable=False),
    Column("end_ms", BigInteger, nullable=False),
    Column("resolution_ms", Integer, nullable=False),
    Index("spans_in_time", "end_ms"),
)

# Exporters of samples to Prometheus, and what waits there since when.
EXPORTERS = Table(
    "exporters",
    METADATA,
    Column("name", String(128), primary_key=True),
    Column("at_s", Float, nullable=False),
    Column("oldest_s", Float),
    Column("spool_bytes", BigInteger, nullable=False),
)

# Counters, which only rise, also when their rows are deleted.
COUNTS = Table(
    "counts",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", Float, nullable=False),
)
