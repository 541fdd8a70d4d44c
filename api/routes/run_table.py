"""The list of runs as one table to download: all that match a filter, in the order of the list, a line for each run."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.cursors import OfExperiment, OrderQuery, RunFilter
from longhaul.api.http.request_body import Reading
from longhaul.api.http.threads import takes_long
from longhaul.api.lab import Lab
from longhaul.orchestrator.database.lists.orders import read_order
from longhaul.orchestrator.system.errors import PlanError

router = APIRouter(route_class=Reading, tags=["runs"])

# What a column of the page is in the table; `point.FIELD` is the field.
COLUMNS: dict[str, tuple[str, ...]] = {
    "cc": ("controls",),
    "path": ("topology", "bandwidth_bps", "rtt_us", "backend"),
    "goodput": ("goodput_bps",),
    "rtt": ("rtt_mean_ms",),
    "loss": ("loss_ratio",),
    "utilisation": ("utilisation",),
    "jain": ("jain",),
    "duration": ("virtual_s",),
    "took": ("wall_s",),
    "seed": ("seed",),
    "start": ("started_at",),
    "end": ("finished_at",),
    "owner": ("owner",),
}
_FIELD = "point."
_BATCH = 500


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
    names = _columns(columns)
    ids = lab.store.catalog.ids_in_order(wanted, read_order(sort), experiment_id)
    lines = _lines(lab, ids, names)
    return StreamingResponse(
        lines, media_type="text/csv", headers={"Content-Disposition": 'attachment; filename="runs.csv"'}
    )


def _columns(written: str) -> list[str]:
    """The names in the table; PlanError for an unknown one."""
    asked = [name for name in written.split(",") if not name.startswith(_FIELD)] if written else list(COLUMNS)
    for name in asked:
        if name not in COLUMNS:
            what = f"a column is one of {', '.join(COLUMNS)}, or `point.` and a swept field"
            raise PlanError("choosing columns", name[:64], what, "as in goodput,rtt")
    found = [name for column in COLUMNS if column in asked for name in COLUMNS[column]]
    return [name for name in found if name != "seed"]


def _lines(lab: Lab, ids: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    catalog = lab.store.catalog
    fields = catalog.fields_of(ids)
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["id", "experiment", "status", "seed", *fields, *names, "created_at"])
    for number, row in enumerate(catalog.rows_of(ids), start=1):
        point: dict[str, Any] = json.loads(row["point"])
        first = (row["id"], row["experiment"], row["status"], row["seed"])
        lines.writerow(
            [*first, *(point.get(field) for field in fields), *(row[name] for name in names), row["created_at"]]
        )
        if number % _BATCH == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
