"""What goes over the wire about the lab itself: its queue, workers, kernels, modules, versions, and the papers that it has carried out."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import Status, Wire

Json = dict[str, Any]


class Task(Wire):
    """A run that waits or runs."""

    run: str
    href: str
    experiment: str
    backend: str
    point: dict[str, str]
    controls: list[str]
    owner: str
    priority: int
    needs: str = Field(description="What of a machine it takes: sandbox, programs, alone, root, hosts.")
    attempts: int
    queued_s: float = Field(description="When it was queued, in seconds since 1970.")
    started_at: str | None
    virtual_s: float
    progress_s: float = Field(description="Virtual seconds reached.")
    by: str | None = Field(description="The dispatcher that has it.")
    cancel: bool = Field(description="Nobody wants it any more; it ends as soon as its holder looks.")


class Share(Wire):
    """What of the queue is one person's."""

    owner: str
    waiting: int
    running: int
    priority: int = Field(description="The highest of them.")
    first_s: float | None = Field(description="When the first that still waits was queued, in seconds since 1970.")


class Worker(Wire):
    """Who carries runs out."""

    name: str
    dispatcher: str
    machine: str
    slots: int = Field(description="Runs at a time.")
    needs: list[str] = Field(description="Which kinds of run it takes.")
    version: str
    since_s: float = Field(description="Since when it has been there, in seconds since 1970.")
    quiet_s: float = Field(description="How long ago it was last heard of.")
    there: bool = Field(description="Heard of lately.")


class Queue(Wire):
    """What waits, what runs, and who carries it out."""

    waiting: int
    oldest_s: float = Field(description="For how long the first has waited.")
    running: list[Task]
    next: list[Task] = Field(description="In the order in which they would be taken now.")
    owners: list[Share]
    workers: list[Worker]


class Change(Wire):
    """Something that happened to an experiment or a run."""

    id: int
    at: str
    kind: str = Field(description="What happened (docs/service.md).")
    experiment: str | None
    run: str | None
    data: Json


class Changes(Wire):
    """What happened since."""

    last: int = Field(description="What to ask after the next time.")
    items: list[Change] = Field(description="The oldest first.")


class Kernel(Wire):
    """A kernel of the sandbox."""

    version: str
    built: bool
    release: str | None = Field(description="What it calls itself.")
    hash: str | None = Field(description="Of all that it is made of.")


class Trial(Wire):
    """The last trial of a congestion control: does its module load and work?"""

    experiment: str = Field(description="Its path from the server's root.")
    status: Status
    created_at: str


class Module(Wire):
    """A congestion control, and whether it can be run."""

    cc: str
    also: str
    about: str
    parameters: list[Json]
    module: str
    of: Literal["longhaul", "linux"]
    kernels: dict[str, Literal["built", "part of the kernel", "not built", "no kernel"]]
    trial: Trial | None


class Disk(Wire):
    """Where runs are kept."""

    free_bytes: int
    total_bytes: int


class About(Wire):
    """The service: what it is, what it is connected with, how it does."""

    version: str
    python: str
    since_s: float = Field(description="Since when it has been running, in seconds since 1970.")
    database: Literal["sqlite", "postgresql"]
    executor: Literal["slots", "dask"]
    jobs: int = Field(description="Runs at a time on this machine.")
    user_code: bool = Field(description="Whether admins may send code of their own.")
    grafana: str | None = Field(description="Where its dashboards are.")
    prometheus: bool = Field(description="Whether samples of runs are sent there.")
    export_lag_s: float
    spool_bytes: int
    runs: dict[str, int] = Field(description="How many in each status.")
    experiments: dict[str, int]
    virtual_s: float = Field(description="Virtual seconds over the life of the record.")
    wall_s: float
    guest_deaths: int
    followers: int
    disk: Disk


class Extent(Wire):
    """The runs of a figure, in full or as few as give its verdicts."""

    runs: int
    kept: int
    live: int
    failed: int
    complete: bool
    wall_estimate_s: float | None = Field(
        description="Of all of them, on one processor; null where that was not looked up."
    )


class Claim(Wire):
    """What a paper states, and what was measured."""

    model_config = ConfigDict(extra="forbid", populate_by_name=True)

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
    experiment: str = Field(description="The name of its experiment, as lists of runs have it.")


class Figure(Wire):
    """A published figure in this lab."""

    paper: str
    figure: str
    about: str
    experiments: dict[str, str] = Field(description="Shipped name -> its name in lists.")
    extent: Literal["quick", "full"] = Field(description="Whose runs the verdicts are of.")
    quick: Extent
    full: Extent
    claims: list[Claim]


class FigureRow(Wire):
    """A published figure, before anybody looks what is kept of it."""

    figure: str
    about: str
    experiments: list[str]
    claims: int
    gates: int
    pictures: int


class PaperRow(Wire):
    """A paper, or a pack of our own."""

    paper: str
    kind: Literal["paper", "pack"]
    citation: str
    about: str
    figures: list[FigureRow]


class Plate(Wire):
    """One drawing."""

    svg: str = Field(description="An SVG element; colours of text and lines are variables with a fallback.")
    width_px: int = Field(description="What it needs to be legible.")
    title: str


class Picture(Wire):
    """A picture of a figure, and the numbers behind it."""

    title: str
    wide: bool
    plates: list[Plate]
    csv: str


class Reproduction(Wire):
    """How much of a figure is to be run."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"extent": "quick"}]})

    extent: Literal["quick", "full"] = "quick"


class Submitted(Wire):
    """The experiments that were handed in."""

    experiments: list[str] = Field(description="Links.")
