"""The list of runs in other forms: a row for each experiment, one table to download, the tags in use."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.cursors import LimitQuery, OfExperiment, OrderQuery, RunFilter, SkipQuery
from longhaul.api.http.request_body import Reading
from longhaul.api.http.threads import takes_long
from longhaul.api.schemas.run_groups import RunGroup, RunGroups, TagCount
from longhaul.orchestrator.database.lists.groups import ORDERS
from longhaul.orchestrator.database.lists.orders import read_order
from longhaul.orchestrator.database.lists.run_table import COLUMNS, read_columns, table_lines

router = APIRouter(route_class=Reading, tags=["runs"])


@router.get("/run-groups", summary="List runs by experiment", operation_id="list_run_groups")
@takes_long
def groups(
    lab: TheLab,
    caller: Reader,
    wanted: RunFilter,
    limit: LimitQuery = 50,
    skip: SkipQuery = 0,
    sort: Annotated[
        str,
        Query(
            description=(
                f"The order of the groups: `newest`, `oldest`, or one of {', '.join(f'`{name}`' for name in ORDERS)}; a result by its mean. "
                "A minus in front puts the largest first. Groups without the value come last."
            ),
            examples=["-runs"],
        ),
    ] = "newest",
) -> RunGroups:
    """The matching runs of each experiment name as one row, with their number by status, and the mean and range of their results."""
    found, total = lab.store.catalog.groups(limit, wanted, sort, skip)
    return RunGroups(items=[RunGroup(**group.document()) for group in found], total=total)


@router.get("/tags", summary="List tags", operation_id="list_tags")
def tags(lab: TheLab, caller: Reader, limit: LimitQuery = 50) -> list[TagCount]:
    """The tags of runs and experiments, the most frequent first."""
    return [TagCount(tag=tag, count=count) for tag, count in lab.annotations.tags(limit)]


@router.get(
    "/run-table",
    summary="Download the list of runs",
    operation_id="download_runs",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/csv": {"schema": {"type": "string", "format": "binary"}}},
            "description": "A line for each run, after one with the names of the columns.",
        }
    },
)
@takes_long
def table(
    lab: TheLab,
    caller: Reader,
    wanted: RunFilter,
    sort: OrderQuery = "newest",
    experiment_id: OfExperiment = None,
    columns: Annotated[
        str,
        Query(
            max_length=1000,
            description=(
                f"The columns, with commas between them: {', '.join(f'`{name}`' for name in COLUMNS)}; all without it. The id, the experiment, "
                "the status, the seed, the swept fields and the time of creation are always there."
            ),
            examples=["goodput,rtt"],
        ),
    ] = "",
) -> StreamingResponse:
    """All runs that match, as CSV in units of the columns' names; a value that a run does not have is empty."""
    names = read_columns(columns)
    catalog = lab.store.catalog
    ids = catalog.ids_in_order(wanted, read_order(sort), experiment_id)
    lines = table_lines(catalog.rows_of(ids), catalog.fields_of(ids), names)
    return StreamingResponse(
        lines, media_type="text/csv", headers={"Content-Disposition": 'attachment; filename="runs.csv"'}
    )
