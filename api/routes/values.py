"""One measure of every run of an experiment, for heat maps of sweeps, without the documents of a thousand runs."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic_core import from_json

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag, not_changed, rendered
from longhaul.api.http.threads import takes_long
from longhaul.api.routes.experiments import ExperimentId, result_tag
from longhaul.api.schemas.pictures import Values

router = APIRouter(route_class=Reading, prefix="/experiments", tags=["experiments"])

MeasureQuery = Annotated[
    str, Query(max_length=64, description="The key of the measure in a run's document.", examples=["goodput_bps"])
]
MeasuredFlow = Annotated[
    str,
    Query(
        max_length=128,
        description="The name of a flow; without it, the measure is of the path or the run.",
        examples=["app"],
    ),
]


@router.get("/{id}/values", summary="Read a measure of all runs", operation_id="read_values", response_model=Values)
@takes_long
def values(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    measure: MeasureQuery = "goodput_bps",
    flow: MeasuredFlow = "",
    if_none_match: KnownTag = None,
) -> Response:
    """The measure of each run with its point and seed, null if it has none, and a list of all measures."""
    not_changed(result_tag(lab.experiments.get(key), "values", measure, flow), if_none_match, response)
    rows, measures = lab.store.catalog.values_of(key, measure, flow)
    document = {
        "flow": flow or None,
        "measure": measure,
        "measures": [{"flow": of or None, "measure": name} for of, name in measures],
        "values": [
            {"run": row.run, "point": from_json(row.point), "seed": row.seed, "status": row.status, "value": row.value}
            for row in rows
        ],
    }
    return rendered(document, response)
