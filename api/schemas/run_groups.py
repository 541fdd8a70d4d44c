"""The types of the list of runs by experiment."""

from __future__ import annotations

from pydantic import Field

from longhaul.api.schemas.experiments import Status, Wire


class ResultSpread(Wire):
    """A result of several runs."""

    mean: float
    least: float
    most: float


class RunGroup(Wire):
    """The matching runs of all experiments of one name."""

    experiment: str
    runs: int
    statuses: dict[Status, int] = Field(description="How many of the runs have each status that occurs.")
    created_at: str = Field(description="The time of creation of the newest run.")
    results: dict[str, ResultSpread] = Field(
        description="`goodput` in bit/s, `rtt` in ms, `loss`, `utilisation` and `jain`, over the runs that have them."
    )


class RunGroups(Wire):
    """Some groups, in the order that was asked for."""

    items: list[RunGroup]
    total: int = Field(description="How many groups match.")


class TagCount(Wire):
    """A tag, and how many runs and experiments have it."""

    tag: str
    count: int
