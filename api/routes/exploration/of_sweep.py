"""A sweep explored: the importance of its fields, several measures of every point, bands of repeats over time."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic_core import from_json

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag, not_changed, rendered
from longhaul.api.http.threads import takes_long
from longhaul.api.lab import Lab
from longhaul.api.routes.experiments import ExperimentId, result_tag
from longhaul.api.routes.exploration.of_run import LinkQuery
from longhaul.api.routes.series import BeginQuery, EndQuery, OneFlowQuery
from longhaul.api.routes.values import MeasuredFlow, MeasureQuery
from longhaul.api.schemas.exploration import Band, Importance, PointValues
from longhaul.orchestrator.analysis.exploration.importance import METHOD, importance
from longhaul.orchestrator.analysis.exploration.kept import kept_band
from longhaul.orchestrator.analysis.exploration.repeats import point_values
from longhaul.orchestrator.database.catalog import Value
from longhaul.orchestrator.database.shared_texts import Measure
from longhaul.orchestrator.system.errors import NotFound

router = APIRouter(route_class=Reading, prefix="/experiments", tags=["experiments"])

_MOST_MEASURES = 8
# Repeats of one band that are read.
_MOST_REPEATS = 50
_MOST_POINTS = 2000


@router.get(
    "/{id}/importance",
    summary="Read how much each swept field matters",
    operation_id="read_importance",
    response_model=Importance,
)
@takes_long
def read_importance(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    measure: MeasureQuery = "goodput_bps",
    flow: MeasuredFlow = "",
    if_none_match: KnownTag = None,
) -> Response:
    """The share of the variance of a measure that each swept field explains by itself, that of interactions, and that of noise between repeats."""
    not_changed(result_tag(lab.experiments.get(key), "importance", measure, flow), if_none_match, response)
    rows, measures = lab.store.catalog.values_of(key, measure, flow)
    found = importance([from_json(row.point) for row in rows], [row.value for row in rows])
    document = {
        "measure": measure,
        "flow": flow or None,
        "method": METHOD,
        **asdict(found),
        "measures": _listed(measures),
    }
    return rendered(document, response)


@router.get(
    "/{id}/point-values",
    summary="Read several measures of all points",
    operation_id="read_point_values",
    response_model=PointValues,
)
@takes_long
def read_point_values(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    of: Annotated[
        list[Annotated[str, Query(max_length=194)]],
        Query(
            max_length=_MOST_MEASURES,
            description="Keys of measures, each with @ and the name of its flow, if it is of a flow.",
            examples=[["goodput_bps@app", "utilisation"]],
        ),
    ] = ["utilisation"],  # noqa: B006
    if_none_match: KnownTag = None,
) -> Response:
    """For every point the mean of each measure over its repeats, with its 95 % interval."""
    not_changed(result_tag(lab.experiments.get(key), "point-values", *of), if_none_match, response)
    asked = [(measure, flow) for measure, _, flow in (one.partition("@") for one in of)]
    columns: list[list[Value]] = []
    measures: list[Measure] = []
    for measure, flow in asked:
        rows, measures = lab.store.catalog.values_of(key, measure, flow)
        columns.append(rows)
    # A run that ended between two reads has no value in the first one.
    ids = {row.run: from_json(row.point) for rows in columns for row in rows}
    known = [{row.run: row.value for row in rows} for rows in columns]
    points = point_values((run, point, [values.get(run) for values in known]) for run, point in ids.items())
    document = {
        "of": [{"measure": measure, "flow": flow or None} for measure, flow in asked],
        "points": [asdict(point) for point in points],
        "measures": _listed(measures),
    }
    return rendered(document, response)


@router.get(
    "/{id}/bands",
    summary="Read the band of repeats over time",
    operation_id="read_bands",
    response_model=Band,
)
@takes_long
def read_bands(
    key: ExperimentId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    measure: Annotated[
        str, Query(max_length=64, description="The name of a series in the catalogue.", examples=["queue"])
    ] = "queue",
    flow: OneFlowQuery = None,
    link: LinkQuery = None,
    run: Annotated[
        str | None,
        Query(
            pattern=r"^[0-9a-f]{20}$",
            description="A run of the experiment, whose point is meant; by default the first kept one.",
            examples=["5d41402abc4b2a769e07"],
        ),
    ] = None,
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    points: Annotated[
        int, Query(ge=4, le=_MOST_POINTS, description="The most instants to return.", examples=[100])
    ] = 200,
    if_none_match: KnownTag = None,
) -> Response:
    """The mean of a series over the kept repeats of a point, at each instant, with Student's 95 % interval."""
    asked = {"flow": flow, "link": link, "begin_s": begin_s, "end_s": end_s, "points": points}
    texts = [str(one) for one in (measure, run, *asked.values())]
    not_changed(result_tag(lab.experiments.get(key), "bands", *texts), if_none_match, response)
    point, repeats = _repeats(lab, key, run)
    found = kept_band(lab.store, repeats[:_MOST_REPEATS], measure, **asked)
    document = {
        "point": point,
        "measure": found.measure,
        "of": found.about,
        "unit": found.unit,
        "runs": repeats[:_MOST_REPEATS],
        "left_out": max(0, len(repeats) - _MOST_REPEATS),
        "t_s": found.t_s.round(9).tolist(),
        **{name: getattr(found, name).tolist() for name in ("mean", "low", "high")},
        "count": found.runs.astype(np.int64).tolist(),
    }
    return rendered(document, response)


def _repeats(lab: Lab, experiment: str, run: str | None) -> tuple[dict[str, str], list[str]]:
    """The point of a run, and its kept runs in the order of the experiment; NotFound."""
    rows, _ = lab.store.catalog.values_of(experiment, "", "")
    wanted = next((row for row in rows if (run is None or row.run == run) and lab.store.is_kept(row.run)), None)
    if wanted is None and run is not None:
        hint = "its runs are those of GET /experiments/{id}/values"
        raise NotFound("reading the band of run", run, f"experiment {experiment} has no such kept run", hint)
    if wanted is None:
        raise NotFound(
            "reading the band of experiment", experiment, "no run is kept", "try again when one has finished"
        )
    point: dict[str, str] = from_json(wanted.point)
    return point, [row.run for row in rows if from_json(row.point) == point and lab.store.is_kept(row.run)]


def _listed(measures: list[Measure]) -> list[dict[str, str | None]]:
    return [{"flow": flow or None, "measure": measure} for flow, measure in measures]
