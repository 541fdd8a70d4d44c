"""The types of responses about the lab: run queue, workers, kernels, modules, versions, papers."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import Status, Wire

Json = dict[str, Any]


class Task(Wire):
    """A waiting or running run."""

    run: str
    href: str
    experiment: str
    experiment_id: str | None = Field(description="The owner's experiment that wants it.")
    backend: str
    point: dict[str, str]
    seed: int
    controls: list[str]
    owner: str
    priority: int
    needs: str = Field(description="What it needs of a machine: sandbox, programs, alone, root, hosts.")
    attempts: int
    queued_s: float = Field(description="When it was queued, in seconds since 1970.")
    started_at: str | None
    virtual_s: float
    wall_estimate_s: float | None = Field(description="The estimated processor time of the whole run.")
    progress_s: float = Field(description="The virtual time reached, in seconds.")
    by: str | None = Field(description="The dispatcher that runs it.")
    cancel: bool = Field(description="Whether it is cancelled; its dispatcher ends it soon.")


class Share(Wire):
    """One user's part of the queue."""

    owner: str
    waiting: int
    running: int
    priority: int = Field(description="The highest priority of these runs.")
    first_s: float | None = Field(description="When the first waiting run was queued, in seconds since 1970.")


class Worker(Wire):
    """A worker or dispatcher."""

    name: str
    dispatcher: str
    machine: str
    slots: int = Field(description="Runs at a time.")
    needs: list[str] = Field(description="The kinds of runs that it takes.")
    version: str
    since_s: float = Field(description="When it started, in seconds since 1970.")
    quiet_s: float = Field(description="The seconds since its last sign of life.")
    there: bool = Field(description="Whether it gave a sign of life recently.")


class Queue(Wire):
    """Waiting and running runs, and the workers."""

    waiting: int
    oldest_s: float = Field(description="How long the first run has waited.")
    running: list[Task]
    next: list[Task] = Field(description="The waiting runs, in the order in which they would be taken now.")
    owners: list[Share]
    workers: list[Worker]


class Change(Wire):
    """A change of an experiment or a run."""

    id: int
    at: str
    kind: str = Field(description="What happened (docs/service.md).")
    experiment: str | None
    run: str | None
    data: Json


class Changes(Wire):
    """The changes since an earlier request."""

    last: int = Field(description="The `after` of the next request.")
    items: list[Change] = Field(description="The changes, the oldest first.")


class Trial(Wire):
    """The last trial of a congestion control: whether its module loads and works."""

    experiment: str = Field(description="Its path from the server's root.")
    status: Status
    created_at: str


class Module(Wire):
    """A congestion control and the kernels that it can run on."""

    cc: str
    also: str
    about: str
    parameters: list[Json]
    module: str
    of: Literal["longhaul", "linux"]
    kernels: dict[str, Literal["built", "part of the kernel", "not built", "no kernel"]]
    trial: Trial | None


class Disk(Wire):
    """The disk with the kept runs."""

    free_bytes: int
    total_bytes: int


class About(Wire):
    """The service: version, connections, state."""

    version: str
    python: str
    since_s: float = Field(description="When it started, in seconds since 1970.")
    database: Literal["sqlite", "postgresql"]
    executor: Literal["slots", "dask"]
    jobs: int = Field(description="Runs at a time on this machine.")
    user_code: bool = Field(description="Whether admins may send modules and kernels.")
    grafana: str | None = Field(description="The address of its dashboards.")
    prometheus: bool = Field(description="Whether samples of runs are sent to Prometheus.")
    export_lag_s: float
    spool_bytes: int
    runs: dict[str, int] = Field(description="The number of runs in each status.")
    experiments: dict[str, int]
    virtual_s: float = Field(description="The virtual seconds of all runs in the database.")
    wall_s: float
    guest_deaths: int
    followers: int
    disk: Disk


class Extent(Wire):
    """The runs of a figure: all, or the fewest that give its verdicts."""

    runs: int
    kept: int
    live: int
    failed: int
    complete: bool
    wall_estimate_s: float | None = Field(
        description="The estimated wall time of all of them on one processor; null if not computed."
    )


class Claim(Wire):
    """A paper's claim and the measured value."""

    model_config = ConfigDict(populate_by_name=True)

    claim: str
    grade: str = Field(alias="class", description="number, ordering or curve")
    kind: str
    words: str
    published: str
    gate: bool
    verdict: Literal["agrees", "differs", "not checkable", "not run"]
    measured: str
    value: float | None
    low: float | None
    high: float | None
    off: float | None = Field(description="By how much it differs beyond its tolerance, as a share.")
    point: dict[str, str] | None
    why: str
    experiment: str = Field(description="The name of its experiment in lists of runs.")


class Figure(Wire):
    """A published figure in this lab."""

    paper: str
    figure: str
    about: str
    experiments: dict[str, str] = Field(description="Shipped name -> name in lists of runs.")
    extent: Literal["quick", "full"] = Field(description="The runs on which the verdicts are based.")
    quick: Extent
    full: Extent
    claims: list[Claim]


class FigureRow(Wire):
    """A published figure, without its kept runs."""

    figure: str
    about: str
    experiments: list[str]
    claims: int
    gates: int
    pictures: int


class PaperRow(Wire):
    """A paper or a pack."""

    paper: str
    kind: Literal["paper", "pack"]
    citation: str
    about: str
    figures: list[FigureRow]


class Plate(Wire):
    """One drawing."""

    svg: str = Field(description="An SVG element; colours of text and lines are variables with a fallback.")
    width_px: int = Field(description="The width at which it is legible.")
    title: str


class Picture(Wire):
    """A picture of a figure, and the numbers behind it."""

    title: str
    wide: bool
    plates: list[Plate]
    csv: str


class Reproduction(Wire):
    """Which runs of a figure to submit."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"extent": "quick"}]})

    extent: Literal["quick", "full"] = "quick"


class Submitted(Wire):
    """The submitted experiments."""

    experiments: list[str] = Field(description="Links to the experiments.")
