"""What goes over the wire, as types: the reference of the API is generated from them, and the client reads answers with them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from orchestrator.request import PRIORITIES, Request

ROOT = "/api/v1"
LIVE = ("queued", "running")

Status = Literal["queued", "running", "done", "missed", "failed", "cancelled"]
Json = dict[str, Any]

TOKEN_NAME = r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$"  # noqa: S105 (the form of a name)

# What documents.py takes for text, as a schema says it.
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


class _Wire(BaseModel):
    model_config = ConfigDict(extra="forbid")


class AskedFor(_Wire):
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
    backend: Literal["sandbox", "mininet"] = "sandbox"
    where: Literal["guest", "host"] | None = Field(None, description="Where Mininet runs.")
    clock: Literal["virtual", "real"] | None = Field(None, description="Mininet's clock.")
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
            seed=self.seed,
            repeats=self.repeats,
            priority=self.priority,
        )


class Plan(_Wire):
    """What an experiment comes to before it is run."""

    experiment: str
    runs: int
    lint: list[str]
    wall_estimate_s: float = Field(description="On one processor.")
    text: str = Field(description="Every resolved number, as `longhaul plan` prints it.")
    first: Json = Field(description="The first run, resolved: run.json.")


class Progress(_Wire):
    """How many runs an experiment has, and how many have come to which end."""

    total: int
    cached: int
    done: int
    missed: int
    failed: int
    cancelled: int


class ExperimentRow(_Wire):
    """An experiment in a list."""

    id: str
    href: str
    name: str
    about: str
    owner: str
    status: Status
    priority: int
    created_at: str
    finished_at: str | None
    progress: Progress


class Experiment(ExperimentRow):
    """An experiment that was submitted."""

    spec: Json
    lint: list[str]
    asked: Json
    runs: list[str] = Field(description="Links, in the order of its points and repeats.")
    links: dict[str, str]


class RunRow(_Wire):
    """A run in a list."""

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


class Run(RunRow):
    """A run: what it came to as `longhaul run --json` prints it, or why it came to nothing."""

    document: Json | None
    links: dict[str, str] = Field(
        description="More of it; `grafana` is its dashboard, where the service knows of a Grafana."
    )


class Series(_Wire):
    """A quantity over time."""

    run: str
    measure: str
    of: str = Field(description="The flow or the link.")
    unit: str
    of_values: int = Field(description="How many values the trace has there.")
    t_s: list[float] = Field(description="Seconds from the start of the run.")
    value: list[float]


class Experiments(_Wire):
    """A page of experiments."""

    items: list[ExperimentRow]
    next: str | None


class Runs(_Wire):
    """A page of runs."""

    items: list[RunRow]
    next: str | None


class Result(_Wire):
    """The document of `longhaul run --json`: what is finished of an experiment."""

    experiment: str
    runs: list[Json]
    summary: list[Json]


class Host(_Wire):
    """A host, and who has it."""

    id: str
    holder: str | None
    until_s: float | None = Field(description="When the lease runs out, in seconds since 1970.")
    about: str


class AskedLease(_Wire):
    """For how long a host is wanted, and what for."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"seconds": 600, "about": "kernel tests"}]}
    )

    seconds: Annotated[int, Field(ge=1, le=86_400), WHOLE]
    about: Annotated[str, Field(max_length=200, pattern=TEXT)] = ""


class Lease(_Wire):
    """A host that is the caller's for a while; the fence proves it."""

    host: str
    holder: str
    fence: int
    seconds: int


class NewBaseline(_Wire):
    """The experiment that others of its name are to be compared with."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"experiment_id": "0123456789abcdef"}]})

    experiment_id: str = Field(pattern=r"^[0-9a-f]{16}$")


class Baseline(NewBaseline):
    """What experiments of a name are compared with on a branch."""

    name: str
    branch: str
    set_at: str
    set_by: str


class ModuleFiles(_Wire):
    """The sources of a congestion-control module."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"files": {"tcp_mine.c": "/* a tcp_congestion_ops */\n"}}]}
    )

    files: dict[Annotated[str, Field(max_length=64)], str] = Field(
        min_length=1, max_length=64, description="File name -> text: a tcp_<name>.c, other .c and .h files."
    )


class OwnModule(_Wire):
    """A module of somebody's own, by the hash of its content."""

    source: str
    stored: bool
    reference: str = Field(description="How an experiment names it, in `modules`.")


class NewToken(_Wire):
    """A token to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "ci", "scope": "run", "days": 90}]}
    )

    name: str = Field(pattern=TOKEN_NAME)
    scope: Literal["read", "run", "admin"]
    days: Annotated[int, Field(ge=1, le=3650), WHOLE] | None = None


class Token(_Wire):
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


class Login(_Wire):
    """A token that a web page logs in with."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"token": "lh_0123456789ab_" + "x" * 43}]}
    )

    token: str = Field(max_length=200, pattern=TEXT)


class Session(_Wire):
    """Who is logged in, and what the page has to send along when it changes something."""

    name: str
    scope: str
    csrf_token: str


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
