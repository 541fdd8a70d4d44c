"""The results of a sweep as one table to download: a row for each flow of each run, with the swept fields and all measures."""

from __future__ import annotations

import csv
import io
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query, Response

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag, not_changed
from longhaul.api.http.threads import takes_long
from longhaul.api.routes.experiments import ExperimentId, result_tag
from longhaul.orchestrator.analysis.query.tables import Tables
from longhaul.orchestrator.results.parquet import encode_cells

router = APIRouter(route_class=Reading, prefix="/experiments", tags=["experiments"])


class PointsFormat(StrEnum):
    """The formats."""

    parquet = "parquet"
    csv = "csv"


_TYPES = {PointsFormat.parquet: "application/vnd.apache.parquet", PointsFormat.csv: "text/csv"}


@router.get(
    "/{id}/points",
    summary="Download the points of a sweep",
    operation_id="download_points",
    response_class=Response,
    responses={
        200: {
            "content": {kind: {"schema": {"type": "string", "format": "binary"}} for kind in _TYPES.values()},
            "description": "A row for each flow of each kept run, in the order of the experiment.",
        }
    },
)
@takes_long
def points(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    to: Annotated[
        PointsFormat, Query(alias="format", description="The format of the file.", examples=["csv"])
    ] = PointsFormat.parquet,
    if_none_match: KnownTag = None,
) -> Response:
    """One table: the run's id, status and seed, the swept fields as text and as numbers, every measure of the flow and, as `path_...`, of the path.

    The columns are those of the table `points` of `longhaul query`.
    """
    experiment = lab.experiments.get(key)
    not_changed(result_tag(experiment, "points", to), if_none_match, response)
    table = Tables(lab.store, key).points()
    names = list(table.columns)
    rows = [[row.get(name) for name in names] for row in table.rows()]
    content = encode_cells(names, rows) if to is PointsFormat.parquet else _csv(names, rows)
    name = f'attachment; filename="{experiment["name"]}-{key}.{to.value}"'
    return Response(content, media_type=_TYPES[to], headers={**response.headers, "Content-Disposition": name})


def _csv(names: list[str], rows: list[list[object]]) -> bytes:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(names)
    lines.writerows(rows)
    return text.getvalue().encode()
