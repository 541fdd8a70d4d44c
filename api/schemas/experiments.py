"""What goes over the wire, as types: the reference of the API is generated from them, and the client reads answers with them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

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

# What yaml_text.py takes for text; of an experiment's own text it takes less.
TEXT = r"^[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufffe\uffff]*$"

QUICK: Json = {
    "experiment": "first-look",
    "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "one", "cc": "cubic"}],
    "duration": "5 s",
    "expect": [{"measure": "utilisation", "at_least": 0.5}],
}


def _whole(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("a whole number is needed")
    return value


# 5 and 5.0 are the same number in JSON; "5" and true are none.
WHOLE = BeforeValidator(_whole)


class Wire(BaseModel):
    """What every type of answer and question has."""

    model_config = ConfigDict(extra="forbid")


class AskedFor(Wire):
    """An experiment to run: its fields, or the name of a shipped one; never a file of the server."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"spec": QUICK}, {"shipped": "quick", "set": ["path.rtt=80ms"], "repeats": 3}]},
    )

    spec: Json | None = Field(None, description="The fields of an experiment (docs/experiment-format.md).")
    shipped: Annotated[str, Field(max_length=128, pattern=TEXT)] | None = Field(
        None, description="The name of a shipped experiment."
    )
    set: list[Annotated[str, Field(max_length=500, pattern=TEXT)]] = Field(
        default=[], max_length=100, description="Changes, as in path.rtt=100ms."
    )
    backend: Literal[BACKENDS] = "sandbox"  # type: ignore[valid-type]
    where: Literal["guest", "host"] | None = Field(None, description="Where Mininet runs.")
    clock: Literal["virtual", "real"] | None = Field(None, description="Mininet's clock.")
    hosts: list[Annotated[str, Field(max_length=64, pattern=HOST_NAME)]] = Field(
        default=[],
        max_length=32,
        description="Of the hosts backend: from and to, with a middle box between them that is to emulate the path; or a host for each node, as in a1=hk.",
    )
    seed: Annotated[int, Field(ge=0, lt=2**32), WHOLE] | None = None
    repeats: Annotated[int, Field(ge=1, le=100_000), WHOLE] | None = None
    priority: Annotated[int, Field(ge=PRIORITIES[0], le=PRIORITIES[1]), WHOLE] = 0

    def as_request(self) -> Request:
        """What the desk takes."""
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
        )


class Plan(Wire):
    """What an experiment comes to before it is run."""

    experiment: str
    runs: int
    lint: list[str]
    wall_estimate_s: float = Field(description="On one processor.")
    text: str = Field(description="Every resolved number, as `longhaul plan` prints it.")
    first: Json = Field(description="The first run, resolved: run.json.")


class Preview(Wire):
    """What an experiment comes to while it is written."""

    experiment: str
    runs: int
    points: int = Field(description="Of the sweep.")
    resolved: list[PointCost] = Field(description="The points that were looked at: all of them, or a sample.")
    fields: dict[str, list[str]] = Field(description="The fields that the sweep varies, with their values.")
    numbers: Numbers = Field(description="The first run's.")
    drawing: Drawing = Field(description="The first run's.")
    lint: list[str]
    wall_estimate_s: float = Field(description="Of all runs, on one processor.")
    slots: int = Field(description="Runs that this machine carries out at a time.")
    missing: list[Missing] = Field(description="What its runs lack here; with anything missing it cannot be submitted.")
    kept: int | None = Field(description="How many of its runs are kept already; null where not all were looked at.")


class Progress(Wire):
    """How many runs an experiment has, and how many have come to which end."""

    total: int
    cached: int
    done: int
    missed: int
    failed: int
    cancelled: int


OTHER_PROGRAMS = "Which programs are not today's, as in `agent: 5d41402abc4b then, 7c211433f020 now`: the kernel, agent and modules of the service"


class ExperimentRow(Wire):
    """An experiment in a list."""

    # What an older service does not tell is filled in by the client; this one tells it always.
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)

    id: str
    href: str
    name: str
    about: str
    owner: str
    status: Status
    priority: int
    created_at: str
    finished_at: str | None
    backend: str = Field("", description="Of its runs.")
    controls: list[str] = Field(default=[], description="The congestion controls of its runs.")
    rerun_of: str | None = Field(
        None,
        description="The id of the kept run that its one run repeats, to see whether it is identical; null of others.",
    )
    other_programs: list[str] = Field(
        default=[], description=f"{OTHER_PROGRAMS} beside those that made its runs. Empty while it goes on."
    )
    progress: Progress


class Experiment(ExperimentRow):
    """An experiment that was submitted."""

    spec: Json
    lint: list[str]
    asked: Json
    runs: list[str] = Field(description="Links, in the order of its points and repeats.")
    links: dict[str, str]


class RunRow(Wire):
    """A run in a list."""

    # What an older service does not tell is filled in by the client; this one tells it always.
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)

    id: str
    href: str
    experiment: str = Field(description="The name of the first experiment that wanted it.")
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
    topology: str | None = Field(None, description="Null where an earlier version kept the run.")
    bandwidth_bps: int | None = Field(None, description="Of the first bottleneck.")
    rtt_us: int | None = Field(None, description="The round trip without queues.")
    partial: bool = Field(
        False, description="Whether it was cancelled, and the trace up to then is kept: to look at, and no result."
    )
    utilisation: float | None = Field(None, description="Of the first bottleneck, once the run is kept.")
    jain: float | None = Field(None, description="Jain's index of fairness, once the run is kept and where it has one.")
    rerun_of: str | None = Field(
        None,
        description="The id of the kept run that this one repeats, to see whether it is identical; null of others.",
    )
    other_programs: list[str] = Field(
        default=[], description=f"{OTHER_PROGRAMS} beside those that made it. Empty where it is not kept."
    )


class Run(RunRow):
    """A run: what it came to as `longhaul run --json` prints it, or why it came to nothing."""

    document: Json | None
    experiments: list[str] = Field(description="The ids of the experiments that want it, the newest first.")
    links: dict[str, str] = Field(
        description="More of it; `grafana` is its dashboard, where the service knows of a Grafana; `log` is the log of a run that failed, where its guest left one."
    )
    damage: str | None = Field(
        None,
        description="What is wrong with the files of a kept run, as far as its manifest and their sizes show it; `verification` reads all of them.",
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
    of: str = Field(description="The flow or the link.")
    unit: str
    of_values: int = Field(description="How many values the trace has there.")
    t_s: list[float] = Field(description="Seconds from the start of the run.")
    value: list[float]


class Experiments(Wire):
    """A page of experiments."""

    items: list[ExperimentRow]
    next: str | None
    total: int | None = Field(None, description="How many match in all, where that was asked for.")


class Runs(Wire):
    """A page of runs."""

    items: list[RunRow]
    next: str | None
    total: int | None = Field(None, description="How many match in all, where that was asked for.")


class Result(Wire):
    """The document of `longhaul run --json`: what is finished of an experiment."""

    experiment: str
    runs: list[Json]
    summary: list[Json]


class NewBaseline(Wire):
    """The experiment that others of its name are to be compared with."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"experiment_id": "0123456789abcdef"}]})

    experiment_id: str = Field(pattern=r"^[0-9a-f]{16}$")


class Baseline(NewBaseline):
    """What experiments of a name are compared with on a branch."""

    # What an older service does not tell is filled in by the client; this one tells it always.
    model_config = ConfigDict(extra="forbid", json_schema_serialization_defaults_required=True)

    name: str
    branch: str
    set_at: str
    set_by: str
    other_programs: list[str] = Field(
        default=[], description=f"{OTHER_PROGRAMS} beside those that made the runs of its experiment."
    )


class ModuleFiles(Wire):
    """The sources of a congestion-control module."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"files": {"tcp_mine.c": "/* a tcp_congestion_ops */\n"}}]}
    )

    files: dict[Annotated[str, Field(max_length=64)], str] = Field(
        min_length=1, max_length=64, description="File name -> text: a tcp_<name>.c, other .c and .h files."
    )


class OwnModule(Wire):
    """A module of somebody's own, by the hash of its content."""

    source: str
    stored: bool
    reference: str = Field(description="How an experiment names it, in `modules`.")


class NewToken(Wire):
    """A token to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "ci", "scope": "run", "days": 90}]}
    )

    name: str = Field(pattern=TOKEN_NAME)
    scope: Literal["read", "run", "gate", "admin"]
    days: Annotated[int, Field(ge=1, le=3650), WHOLE] | None = None


class Token(Wire):
    """A token, without its secret."""

    id: str
    name: str
    scope: str
    created_at: str
    expires_s: float | None
    revoked_at: str | None


class ShownToken(Token):
    """A token on the only occasion when it is shown."""

    token: str


class Login(Wire):
    """A token that a web page logs in with."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"token": "lh_0123456789ab_" + "x" * 43}]}
    )

    token: str = Field(max_length=200, pattern=TEXT)


class Session(Wire):
    """Who is logged in, and what the page has to send along when it changes something."""

    name: str
    scope: str
    csrf_token: str


class ProblemField(BaseModel):
    """What is wrong with one field of an experiment."""

    location: list[str | int] = Field(description="Keys and positions.")
    field: str = Field(description="The same as people write it, as in flows.app.cc.")
    read: str | None = Field(description="What was read there; null: nothing.")
    what: str = Field(description="What is allowed, or needed.")
    nearest: str | None = Field(description="The known name that was probably meant.")


class Problem(BaseModel):
    """Why something was not done (RFC 9457)."""

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
    problems: list[str] = Field([], description="Of what was sent: a line each.")
    fields: list[ProblemField] = Field(
        [], description="Of an experiment: the same lines, each with the place of its field."
    )
