"""Lists: filters, and pages by cursor, so that a list that grows between pages neither repeats nor skips a row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Query

from longhaul.api.schemas.experiments import CURSOR, TEXT, TOKEN_NAME, WHEN, Status
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.lists.orders import COLUMNS, Place
from longhaul.orchestrator.database.statuses import LONGEST_TAG
from longhaul.orchestrator.plan.target import BACKENDS
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.units import parse_duration, parse_rate

# In an order by a value the value is in front, nothing for none.
_PLACE = rf"^([^\x00-\x1f\x7f]{{0,200}}_)?{CURSOR[1:]}"
_UTC = "+00:00"

LimitQuery = Annotated[int, Query(ge=1, le=500, description="The most rows to return.", examples=[20])]
CursorQuery = Annotated[
    str | None,
    Query(
        pattern=CURSOR,
        description="The `next` of the previous page.",
        examples=["2031-05-17T09:00:00.000Z_5d41402abc4b2a76"],
    ),
]
PlaceQuery = Annotated[
    str | None,
    Query(
        pattern=_PLACE,
        description="The `next` of the previous page, in the same order.",
        examples=["2031-05-17T09:00:00.000Z_5d41402abc4b2a769e07"],
    ),
]
SkipQuery = Annotated[
    int,
    Query(
        ge=0,
        le=1_000_000,
        description="Rows to leave out after the cursor, or at the beginning without one: a jump to any place of the list.",
        examples=[120],
    ),
]
NameQuery = Annotated[
    str | None,
    Query(
        pattern=r"^[a-z0-9-]{1,60}$",
        description="The name of an experiment, its field `experiment`.",
        examples=["quick"],
    ),
]
TotalQuery = Annotated[bool, Query(description="Whether to count the matching rows of all pages.", examples=[True])]
SortQuery = Annotated[Literal["newest", "oldest"], Query(description="The order of the rows.", examples=["newest"])]
OrderQuery = Annotated[
    str,
    Query(
        description=(
            f"The order of the rows: `newest`, `oldest`, one of {', '.join(f'`{name}`' for name in COLUMNS)}, or `point.` and a swept "
            "field, as in `point.path.rtt`. A minus in front puts the largest first. Rows without the value come last."
        ),
        examples=["-goodput"],
    ),
]
OfExperiment = Annotated[
    str | None,
    Query(pattern=r"^[0-9a-f]{16}$", description="Only runs of this experiment.", examples=["5d41402abc4b2a76"]),
]
StatusQuery = Annotated[Status | None, Query(description="Only rows with this status.", examples=["done"])]
_QUANTITY = r"^[0-9][0-9.eE+-]{0,15} ?[A-Za-zµ/]{1,8}$"


async def _of_all(
    owner: Annotated[str | None, Query(pattern=TOKEN_NAME, description="The owner.", examples=["ci"])] = None,
    backend: Annotated[
        Literal[BACKENDS] | None,  # type: ignore[valid-type]
        Query(description="The backend of the runs.", examples=["sandbox"]),
    ] = None,
    cc: Annotated[
        list[Annotated[str, Query(pattern=r"^[a-z][a-z0-9_]{0,30}$")]] | None,
        Query(
            max_length=5,
            description="Only rows with a flow of this congestion control; of each, if several are given.",
            examples=[["cubic"]],
        ),
    ] = None,
    text: Annotated[
        str,
        Query(
            max_length=200,
            pattern=TEXT,
            description="Words that must all occur in the id, the title, the tags, the names of experiment, owner and flows, the path or a swept value. A word with a name must match the whole value: `rtt=300ms`, `seed=5`.",
            examples=["300 ms"],
        ),
    ] = "",
    tag: Annotated[
        list[Annotated[str, Query(max_length=LONGEST_TAG, pattern=TEXT)]] | None,
        Query(
            max_length=5,
            description="Only rows with this tag; with each, if several are given. Runs have those of their experiments too.",
            examples=[["night"]],
        ),
    ] = None,
    since: Annotated[
        str | None,
        Query(alias="from", pattern=WHEN, description="Created at this time or later, UTC.", examples=["2026-01-01"]),
    ] = None,
    until: Annotated[
        str | None,
        Query(
            alias="to", pattern=WHEN, description="Created before this time, UTC.", examples=["2100-01-01T00:00:00Z"]
        ),
    ] = None,
) -> Filter:
    return Filter(
        owner=owner, backend=backend, controls=tuple(cc or ()), text=text, tags=tuple(tag or ()), since=moment(since), until=moment(until)
    )  # fmt: skip


ExperimentFilter = Annotated[Filter, Depends(_of_all)]


async def _of_runs(
    wanted: ExperimentFilter,
    experiment: NameQuery = None,
    status: StatusQuery = None,
    topology: Annotated[
        str | None,
        Query(max_length=128, pattern=TEXT, description="The name of the topology.", examples=["dumbbell"]),
    ] = None,
    bandwidth: Annotated[
        str | None, Query(pattern=_QUANTITY, description="The rate of the bottleneck.", examples=["622 Mbit/s"])
    ] = None,
    rtt: Annotated[
        str | None, Query(pattern=_QUANTITY, description="The round-trip time without queues.", examples=["300 ms"])
    ] = None,
    pinned: Annotated[bool | None, Query(description="Whether the runs are pinned.", examples=[False])] = None,
) -> Filter:
    return replace(
        wanted,
        name=experiment,
        status=status,
        topology=topology,
        bandwidth_bps=_quantity(parse_rate, bandwidth),
        rtt_us=_quantity(parse_duration, rtt),
        pinned=pinned,
    )


RunFilter = Annotated[Filter, Depends(_of_runs)]


def _quantity(parse: Callable[[str], int], written: str | None) -> int | None:
    try:
        return None if written is None else parse(written)
    except ValueError as error:
        raise PlanError("reading the filter", written or "", f"needed: {error}") from None


def moment(written: str | None) -> str | None:
    """A time as in the database."""
    if written is None:
        return None
    try:
        at = datetime.fromisoformat(written.removesuffix("Z"))
    except ValueError:
        raise PlanError(
            "reading the time", written, "this is not a valid date or time", "give one as in 2031-05-17T09:00:00Z"
        ) from None
    return at.replace(tzinfo=UTC).isoformat(timespec="milliseconds")


def read_cursor(cursor: str | None) -> tuple[str, str] | None:
    """The creation time and the id of the last row of the page before."""
    if not cursor:
        return None
    at, _, key = cursor.partition("_")
    return at.removesuffix("Z") + _UTC, key


def read_place(cursor: str | None) -> Place | None:
    """The place of the last row of the page before, in an order by a value."""
    if not cursor:
        return None
    place, _, key = cursor.rpartition("_")
    value, _, at = place.rpartition("_")
    return Place(value or None, at.removesuffix("Z") + _UTC, key)


def place_cursor(place: Place) -> str:
    """A place as a cursor."""
    return f"{place.value or ''}_{_cursor(place.at, place.id)}"


def place_of(row: Mapping[str, Any]) -> str:
    """The cursor after a row in an order of time."""
    return _cursor(row["created_at"], row["id"])


def _cursor(at: str, key: str) -> str:
    return f"{at.removesuffix(_UTC)}Z_{key}"


def page(
    rows: Sequence[Mapping[str, Any]], shown: Sequence[Any], limit: int, total: int | None = None
) -> dict[str, Any]:
    """A page of rows; one more than `limit` was read, to find out whether there is a next page."""
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    after = place_of(last) if last else None
    return {"items": list(shown[:limit]), "next": after, "total": total}
