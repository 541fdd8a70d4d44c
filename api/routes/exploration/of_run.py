"""A run explored: pairs of values, how full queues are, states of the congestion control, the time-sequence diagram."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Response
from pydantic_core import to_json

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.cache import ResponseCache
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag
from longhaul.api.routes.runs import RunId, run_with_trace
from longhaul.api.routes.series import NAME, BeginQuery, EndQuery, PointsQuery
from longhaul.api.schemas.exploration import FlowStates, PhasePlot, QueueOccupancy, SequenceDiagram
from longhaul.orchestrator.analysis.exploration.kept import (
    captured,
    kept_occupancy,
    kept_packet_sequence,
    kept_phase,
    kept_sequence,
    kept_states,
)
from longhaul.orchestrator.analysis.exploration.phase import AXES
from longhaul.orchestrator.analysis.exploration.sequence import sending
from longhaul.orchestrator.analysis.kept_series import run_of

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

FlowQuery = Annotated[str, Query(pattern=NAME, description="The name of a flow.", examples=["app"])]
LinkQuery = Annotated[
    str | None,
    Query(
        pattern=NAME, description="The name of a link; by default the first bottleneck.", examples=["bottleneck"]
    ),
]  # fmt: skip
AxisQuery = Annotated[str, Query(max_length=64, description=f"A quantity: {', '.join(AXES)}.", examples=["rtt"])]
_MOST_CLASSES = 400

_answers = ResponseCache(most=64, largest=2_000_000)


@router.get("/{id}/phase", summary="Read a phase plot of a run", operation_id="read_phase", response_model=PhasePlot)
async def phase(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    flow: FlowQuery,
    x: AxisQuery = "rtt",
    y: AxisQuery = "cwnd",
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    points: PointsQuery = 2000,
    if_none_match: KnownTag = None,
) -> Response:
    """A quantity `y` of a flow against another one, `x`, at each ACK, at most `points` pairs, including the extremes of both."""
    key, part = await run_with_trace(lab, key)
    asked: dict[str, Any] = {"x": x, "y": y, "begin_s": begin_s, "end_s": end_s, "points": points}

    def make() -> dict[str, Any]:
        return {"run": key, **_plain(asdict(kept_phase(lab.store, key, flow, **asked)))}

    return await _answered(("phase", key, part, flow, *asked.values()), make, if_none_match, response)


@router.get(
    "/{id}/occupancy",
    summary="Read how full the queues of a run are",
    operation_id="read_occupancy",
    response_model=QueueOccupancy,
)
async def occupancy(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    link: LinkQuery = None,
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    columns: Annotated[
        int, Query(ge=1, le=_MOST_CLASSES, description="The most stretches of time.", examples=[60])
    ] = 120,
    rows: Annotated[int, Query(ge=1, le=_MOST_CLASSES, description="The most classes of packets.", examples=[20])] = 40,
    if_none_match: KnownTag = None,
) -> Response:
    """The distribution of the length of one queue in each stretch of time, and the mean of all queues."""
    key, part = await run_with_trace(lab, key)
    asked: dict[str, Any] = {"link": link, "begin_s": begin_s, "end_s": end_s, "columns": columns, "rows": rows}

    def make() -> dict[str, Any]:
        return {"run": key, **_plain(asdict(kept_occupancy(lab.store, key, **asked)))}

    return await _answered(("occupancy", key, part, *asked.values()), make, if_none_match, response)


@router.get(
    "/{id}/states",
    summary="Read the states of a congestion control",
    operation_id="read_states",
    response_model=FlowStates,
)
async def states(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    flow: FlowQuery,
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    if_none_match: KnownTag = None,
) -> Response:
    """TCP's state, BBR's phase and CUBIC's origin point over time."""
    key, part = await run_with_trace(lab, key)

    def make() -> dict[str, Any]:
        found = kept_states(lab.store, key, flow, begin_s=begin_s, end_s=end_s)
        origin = None
        if found.origin is not None:
            known = zip(*(column.tolist() for column in found.origin), strict=True)
            origin = [{"t_s": t_s, "packets": packets} for t_s, packets in known]
        return {"run": key, **asdict(found), "origin": origin}

    return await _answered(("states", key, part, flow, begin_s, end_s), make, if_none_match, response)


@router.get(
    "/{id}/sequence",
    summary="Read the time-sequence diagram of a flow",
    operation_id="read_sequence",
    response_model=SequenceDiagram,
)
async def sequence(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    flow: FlowQuery,
    packets: Annotated[
        bool, Query(description="Of captured packets, if there are some; otherwise of the trace.", examples=[False])
    ] = True,
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    points: PointsQuery = 2000,
    if_none_match: KnownTag = None,
) -> Response:
    """Sent and acknowledged bytes of a flow over time, with retransmissions; of captured packets also SACK blocks."""
    key, part = await run_with_trace(lab, key)
    stamp = captured(lab.store, key)
    asked: dict[str, Any] = {"begin_s": begin_s, "end_s": end_s, "points": points}

    def make() -> dict[str, Any]:
        of_packets = of_trace = None
        if stamp and packets:
            of_packets = _plain(asdict(kept_packet_sequence(lab.store, key, flow, stamp, **asked)))
            del of_packets["flow"]
        else:
            of_trace = _plain(asdict(kept_sequence(lab.store, key, flow, **asked)))
            of_trace["retransmitted"] = [int(count) for count in of_trace["retransmitted"]]
            del of_trace["flow"]
        return {
            "run": key,
            "flow": flow,
            "trace": of_trace,
            "packets": of_packets,
            "captured": bool(stamp),
            "sender": sending(run_of(lab.store, key), flow).from_node,
        }

    question = ("sequence", key, part, flow, stamp, packets, *asked.values())
    return await _answered(question, make, if_none_match, response)


async def _answered(
    question: tuple[object, ...], make: Callable[[], dict[str, Any]], known: str | None, response: Response
) -> Response:
    return await _answers.respond(question, lambda: to_json(make(), inf_nan_mode="null"), known, response)


def _plain(document: Any) -> Any:
    """The same with lists instead of arrays."""
    if isinstance(document, np.ndarray):
        return document.tolist()
    if isinstance(document, dict):
        return {name: _plain(value) for name, value in document.items()}
    if isinstance(document, (list, tuple)):
        return [_plain(value) for value in document]
    return document
