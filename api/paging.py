"""Pages by cursor: a list that grows while somebody walks it neither repeats nor skips a row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Query

from api.schemas import Status

# What follows a place in an address without being encoded: the time, and the id that tells rows of one moment apart.
_CURSOR = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]{5,20}Z_[0-9a-f]{1,32}$"
_UTC = "+00:00"

LimitQuery = Annotated[int, Query(ge=1, le=500, description="At most so many rows.", examples=[20])]
CursorQuery = Annotated[
    str | None,
    Query(
        pattern=_CURSOR,
        description="Where the page before ended: its `next`.",
        examples=["2031-05-17T09:00:00.000Z_5d41402abc4b2a76"],
    ),
]
NameQuery = Annotated[
    str | None,
    Query(
        pattern=r"^[a-z0-9-]{1,60}$",
        description="The name of an experiment, as its first field has it.",
        examples=["quick"],
    ),
]
SortQuery = Annotated[Literal["newest", "oldest"], Query(description="Which come first.", examples=["newest"])]
StatusQuery = Annotated[Status | None, Query(description="Only those.", examples=["done"])]


def read_cursor(cursor: str | None) -> tuple[str, str] | None:
    """The creation time and the id of the last row of the page before."""
    if not cursor:
        return None
    at, _, key = cursor.partition("_")
    return at.removesuffix("Z") + _UTC, key


def page(rows: Sequence[Mapping[str, Any]], shown: Sequence[Any], limit: int) -> dict[str, Any]:
    """A page of what is shown of rows, of which one more than `limit` was asked for."""
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    after = f"{last['created_at'].removesuffix(_UTC)}Z_{last['id']}" if last else None
    return {"items": list(shown[:limit]), "next": after}
