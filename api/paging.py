"""Pages by cursor: a list that grows while somebody walks it neither repeats nor skips a row."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from fastapi import Query

from orchestrator.errors import PlanError

LimitQuery = Annotated[int, Query(ge=1, le=500, description="At most so many rows.")]
CursorQuery = Annotated[
    str | None, Query(max_length=200, description="Where the page before ended: its `next`.", examples=[None])
]
SortQuery = Annotated[Literal["newest", "oldest"], Query(description="Which come first.")]


def read_cursor(cursor: str | None) -> tuple[str, str] | None:
    """The creation time and the id of the last row of the page before."""
    if not cursor:
        return None
    try:
        at, key = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        if not (isinstance(at, str) and isinstance(key, str)) or "\0" in at + key:
            raise ValueError("not two texts")
    except (ValueError, TypeError, binascii.Error, RecursionError):
        what = "it is no cursor of this list"
        raise PlanError("reading the page at", cursor[:40], what, "take `next` of the page before") from None
    return at, key


def page(rows: Sequence[Mapping[str, Any]], shown: Sequence[Any], limit: int) -> dict[str, Any]:
    """A page of what is shown of rows, of which one more than `limit` was asked for."""
    more = len(rows) > limit
    last = rows[limit - 1] if more else None
    written = json.dumps([last["created_at"], last["id"]]).encode() if last else b""
    return {"items": list(shown[:limit]), "next": base64.urlsafe_b64encode(written).decode() if more else None}
