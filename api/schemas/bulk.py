"""The types of an action on all runs that match a filter."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import CURSOR, WHEN, Wire

# A page remembers as many exceptions; the runs of one request are done within seconds.
MOST_EXCEPT, MOST_RUNS, MOST_NAMED = 1000, 100, 100


class BulkAction(Wire):
    """What to do with all runs that match the filter in the query, some of them with each request."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"action": "pin", "until": "2031-05-17T09:00:00.000Z"}]})

    action: Literal["delete", "pin", "unpin", "rerun"]
    until: Annotated[str, Field(pattern=WHEN)] | None = Field(
        None, description="Only runs created before this time, UTC: those that match later are not meant."
    )
    without: list[Annotated[str, Field(pattern=r"^[0-9a-f]{20}$")]] = Field(
        default=[], max_length=MOST_EXCEPT, description="Ids of matching runs that stay as they are."
    )
    cursor: Annotated[str, Field(pattern=CURSOR)] | None = Field(
        None, description="The `next` of the response before; none to begin."
    )


class Refusal(Wire):
    """Why some runs stayed as they are."""

    status: int = Field(description="The status with which a request for one of them is refused.")
    what: str
    hint: str
    count: int
    runs: list[str] = Field(description=f"Their ids, at most {MOST_NAMED}.")


class BulkResult(Wire):
    """What one request did."""

    done: int
    refused: list[Refusal] = Field(description="The refused runs, by reason.")
    next: str | None = Field(description="The `cursor` of the next request; null if no runs are left.")
