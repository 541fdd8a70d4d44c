"""The types of requests and responses: the API reference is generated from them, and the client parses responses with them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from longhaul.orchestrator.database.statuses import LONGEST_COMMENT, LONGEST_TAG, LONGEST_TITLE, MOST_TAGS
from longhaul.orchestrator.execution.backend_status import Missing
from longhaul.orchestrator.execution.request import PRIORITIES, Request
from longhaul.orchestrator.plan.target import BACKENDS
from longhaul.orchestrator.preview.path_drawing import Drawing
from longhaul.orchestrator.preview.preview import Numbers, PointCost

ROOT = "/api/v1"
LIVE = ("queued", "running")

Status = Literal["queued", "running", "done", "missed", "failed", "cancelled"]
Json = dict[str, Any]

TOKEN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$"  # noqa: S105 (the form of a name)

HOST_NAME = r"^([A-Za-z][A-Za-z0-9_-]{0,31}=)?[a-z][a-z0-9-]{0,30}$"

# The text that yaml_text.py accepts; in an experiment's own text it accepts less.
TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]*$"

# A cursor needs no encoding in a URL: the time, and the id, which distinguishes rows of the same time.
CURSOR = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}Z_[0-9a-f]{1,32}$"
# A time of a filter, UTC.
WHEN = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}(T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,3})?)?Z)?$"

QUICK: Json = {
    "experiment": "first-look",
    "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "one", "cc": "cubic"}],
    "duration": "5 s",
    "expect": [{"measure": "utilisation", "at_least": 0.5}],
}


def _whole(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("an integer is needed")
    return value


# 5 and 5.0 are the same number in JSON; "5" and true are not numbers.
WHOLE = BeforeValidator(_whole)


class Wire(BaseModel):
    """The base of all types."""

    model_config = ConfigDict(extra="forbid")


Priority = Annotated[int, Field(ge=PRIORITIES[0], le=PRIORITIES[1]), WHOLE]


Title = Annotated[str, Field(max_length=LONGEST_TITLE, pattern=TEXT, description="A title in any language.")]
Tags = Annotated[
    list[Annotated[str, Field(max_length=LONGEST_TAG, pattern=TEXT)]],
    Field(max_length=MOST_TAGS, description="Tags, by which lists find it."),
]
Comment = Annotated[str, Field(max_length=LONGEST_COMMENT, pattern=TEXT, description="A comment of several lines.")]


class AnnotationChange(Wire):
    """New values of a title, tags or a comment; what is left out stays."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "BBR to Chile", "tags": ["night"]}]})

    title: Title | None = None
    tags: Tags | None = None
    comment: Comment | None = None


class ExperimentChange(AnnotationChange):
    """What may change of a submitted experiment; what is left out stays."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"priority": 5}, {"title": "BBR to Chile", "tags": ["night"]}]}
    )

    priority: Priority | None = None


class AskedFor(Wire):
    """An experiment to run: its fields or the name of a shipped one, never a file on the server."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"spec": QUICK}, {"shipped": "quick", "set": ["path.rtt=80ms"], "repeats": 3}]},
    )

    spec: Json | None = Field(None, description="The fields of an experiment (docs/experiment-format.md).")
    shipped: Annotated[str, Field(max_length=128, pattern=TEXT)] | None = Field(
        None, description="The name of a shipped experiment."
    )
    set: list[Annotated[str, Field(max_length=500, pattern=TEXT)]] = Field(
        default=[], max_length=100, description="Changes, such as path.rtt=100ms."
    )
    backend: Literal[BACKENDS] = "sandbox"  # type: ignore[valid-type]
    where: Literal["guest", "host"] | None = Field(None, description="Where Mininet runs.")
    clock: Literal["virtual", "real"] | None = Field(None, description="Mininet's clock.")
    hosts: list[Annotated[str, Field(max_length=64, pattern=HOST_NAME)]] = Field(
        default=[],
        max_length=32,
        description="For the hosts backend: sender and receiver, with an optional middle box between them that emulates the path; or a host for each node, as in a1=hk.",
    )
    seed: Annotated[int, Field(ge=0, lt=2**32), WHOLE] | None = None
    repeats: Annotated[int, Field(ge=1, le=100_000), WHOLE] | None = None
    priority: Priority = 0
    title: Title = ""
    tags: Tags = []
    comment: Comment = ""

    def as_request(self) -> Request:
        """The request for the desk."""
        return Request(
            spec=self.spec,
            shipped=self.shipped,
            changes=tuple(self.set),
            backend=self.backend,
            where=self.where,
            clock=self.clock,
            hosts=tuple(self.hosts),
            seed=self.seed,
            repeats=self.repeats,
            priority=self.priority,
            title=self.title,
            tags=tuple(self.tags),
            comment=self.comment,
        )


class Plan(Wire):
    """What an experiment resolves to before it runs."""

    experiment: str
    runs: int
    lint: list[str]
    wall_estimate_s: float = Field(description="The estimated wall time on one processor.")
    text: str = Field(description="Every resolved number, as `longhaul plan` prints it.")
    first: Json = Field(description="The first run, resolved: run.json.")


class Preview(Wire):
    """What an experiment resolves to while it is being written."""

    experiment: str
    runs: int
    points: int = Field(description="The number of points of the sweep.")
    resolved: list[PointCost] = Field(description="The points that were resolved: all, or a sample.")
    fields: dict[str, list[str]] = Field(description="The swept fields with their values.")
    numbers: Numbers = Field(description="The numbers of the first run.")
    drawing: Drawing = Field(description="The topology of the first run.")
    lint: list[str]
    wall_estimate_s: float = Field(description="The estimated wall time of all runs on one processor.")
    slots: int = Field(description="Runs at a time on this machine.")
    missing: list[Missing] = Field(
        description="What is missing here for its runs; if anything is, it cannot be submitted."
    )
    kept: int | None = Field(description="How many of its runs are kept; null if not all were resolved.")


class Progress(Wire):
    """The number of runs of an experiment, in total and by status."""

    total: int
    cached: int
    done: int
    missed: int
    failed: int
    cancelled: int


OTHER_PROGRAMS = "The programs that have changed, as in `agent: 5d41402abc4b then, 7c211433f020 now`: the kernel, agent and modules of the service"


class ExperimentRow(Wire):
    """An experiment in a list."""

    # Defaults are for the client of an older service; this service always sends these fields.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    id: str
    href: str
    name: str
    about: str
    owner: str
    status: Status
    priority: int
    created_at: str
    finished_at: str | None
    backend: str = Field("", description="The backend of its runs.")
    controls: list[str] = Field(default=[], description="The congestion controls of its runs.")
    rerun_of: str | None = Field(
        None,
        description="For a rerun, the id of the kept run that its run repeats; otherwise null.",
    )
    other_programs: list[str] = Field(
        default=[], description=f"{OTHER_PROGRAMS} compared with those that made its runs. Empty while it is running."
    )
    progress: Progress
    title: str = ""
    tags: list[str] = []


class Note(Wire):
    """A note on odd values of an experiment."""

    text: str
    points: list[dict[str, str]] = Field(description="The points of the sweep that it is about.")


class Experiment(ExperimentRow):
    """An experiment that was submitted."""

    spec: Json
    lint: list[str] = Field(description="Each note in one line.")
    notes: list[Note] = Field(
        [], description="The notes with their points, which are unknown if an earlier version kept them."
    )
    asked: Json
    comment: str = ""
    runs: list[str] = Field(description="Links, in the order of its points and repeats.")
    links: dict[str, str]


class RunRow(Wire):
    """A run in a list."""

    # Defaults are for the client of an older service; this service always sends these fields.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    id: str
    href: str
    experiment: str = Field(description="The name of the first experiment with this run.")
    status: Status
    backend: str
    kernel: str
    seed: int
    point: dict[str, str]
    virtual_s: float
    wall_s: float | None
    trace_sha256: str | None
    owner: str | None
    pinned: bool
    created_at: str
    started_at: str | None
    finished_at: str | None
    controls: list[str] = Field(default=[], description="The congestion controls of its flows.")
    topology: str | None = Field(None, description="Null if an earlier version kept the run.")
    bandwidth_bps: int | None = Field(None, description="The rate of the first bottleneck.")
    rtt_us: int | None = Field(None, description="The round-trip time without queues.")
    partial: bool = Field(
        False, description="Whether it was cancelled with its trace up to then kept, which is not a result."
    )
    utilisation: float | None = Field(
        None, description="The utilisation of the first bottleneck, once the run is kept."
    )
    jain: float | None = Field(None, description="Jain's fairness index, once the run is kept, if it has one.")
    goodput_bps: float | None = Field(None, description="The goodput of all flows together, once the run is kept.")
    rtt_mean_ms: float | None = Field(
        None, description="The mean round trip, the mean of the flows' means, once the run is kept."
    )
    loss_ratio: float | None = Field(None, description="The mean of the flows' losses, once the run is kept.")
    rerun_of: str | None = Field(
        None,
        description="For a rerun, the id of the kept run that it repeats; otherwise null.",
    )
    other_programs: list[str] = Field(
        default=[], description=f"{OTHER_PROGRAMS} compared with those that made it. Empty if it is not kept."
    )
    title: str = ""
    tags: list[str] = []


class Run(RunRow):
    """A run: its document as in `longhaul run --json`, or the reason of its failure."""

    comment: str = ""
    document: Json | None
    experiments: list[str] = Field(description="The ids of the experiments with this run, the newest first.")
    links: dict[str, str] = Field(
        description="Links; `grafana` is its dashboard, if the service has a Grafana; `log` is the log of a failed run, if there is one."
    )
    damage: str | None = Field(
        None,
        description="Damage of a kept run's files, as far as the manifest and the sizes show it; `verification` reads every file.",
    )


class Verification(Wire):
    """Whether the files of a kept run are those that were kept."""

    run: str
    state: Literal["whole", "unsealed", "damaged"]
    files: dict[str, Literal["whole", "unsealed", "damaged", "missing"]]


class Series(Wire):
    """A quantity over time."""

    run: str
    measure: str
    of: str = Field(description="The name of the flow or link.")
    unit: str
    of_values: int = Field(description="The number of values in the trace.")
    t_s: list[float] = Field(description="Seconds from the start of the run.")
    value: list[float]


class Experiments(Wire):
    """A page of experiments."""

    items: list[ExperimentRow]
    next: str | None
    total: int | None = Field(None, description="The number of all matching rows, if requested.")


class Runs(Wire):
    """A page of runs."""

    items: list[RunRow]
    next: str | None
    total: int | None = Field(None, description="The number of all matching rows, if requested.")


class Result(Wire):
    """The document of `longhaul run --json`, with the finished runs of an experiment."""

    experiment: str
    runs: list[Json]
    summary: list[Json]


class NewBaseline(Wire):
    """The experiment to make a baseline."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"experiment_id": "0123456789abcdef"}]})

    experiment_id: str = Field(pattern=r"^[0-9a-f]{16}$")


class Baseline(NewBaseline):
    """The experiment with which later ones of the same name are compared on a branch."""

    # Defaults are for the client of an older service; this service always sends these fields.
    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    name: str
    branch: str
    set_at: str
    set_by: str
    other_programs: list[str] = Field(
        default=[], description=f"{OTHER_PROGRAMS} compared with those that made the runs of its experiment."
    )


class ProblemField(BaseModel):
    """A mistake in one field of an experiment."""

    location: list[str | int] = Field(description="Keys and positions.")
    field: str = Field(description="The same as text, as in flows.app.cc.")
    read: str | None = Field(description="The value there; null if there is none.")
    what: str = Field(description="What is allowed or needed.")
    nearest: str | None = Field(description="The value that was probably meant, as in cubic, 100 ms.")
    misnamed: bool = Field(False, description="The name of the field is unknown; nearest is a known one.")


class Problem(BaseModel):
    """A problem document (RFC 9457)."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: int
    detail: str
    attempting: str
    subject: str
    what: str
    hint: str
    request_id: str
    problems: list[str] = Field([], description="The mistakes in the request, a line each.")
    fields: list[ProblemField] = Field(
        [], description="The mistakes in an experiment, each with the location of its field."
    )
