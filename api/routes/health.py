"""Whether the service lives, whether it can work, and how it is doing: for supervisors and for Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from longhaul.api.dependencies import TheHub, TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.metrics import Gauges

router = APIRouter(route_class=Reading, tags=["health"])


class Health(BaseModel):
    """One word."""

    status: str


@router.get("/healthz", summary="Whether the service lives", operation_id="healthz")
async def healthz() -> Health:
    """It answers, so it lives."""
    return Health(status="alive")


@router.get("/readyz", summary="Whether the service can work", operation_id="readyz")
def readyz(lab: TheLab) -> Health:
    """It reaches its record; 503 with the reason where it does not."""
    lab.events.newest()
    return Health(status="ready")


@router.get(
    "/metrics",
    summary="How the service is doing",
    operation_id="metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text format."}
    },
)
async def metrics(request: Request, lab: TheLab, hub: TheHub) -> Response:
    """Runs by state, queue, latencies, followers, at most a second old; counts, and the names of hosts that can be leased, for anybody who may reach the port."""
    gauges: Gauges = request.app.state.gauges
    return Response(await gauges.recent_text(lab, hub), media_type="text/plain; version=0.0.4; charset=utf-8")
