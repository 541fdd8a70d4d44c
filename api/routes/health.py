"""Liveness, readiness and metrics, for supervisors and Prometheus."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from longhaul.api.dependencies import TheHub, TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.metrics import Gauges

router = APIRouter(route_class=Reading, tags=["health"])


class Health(BaseModel):
    """The state as one word."""

    status: str


@router.get("/healthz", summary="Check that the service is alive", operation_id="healthz")
async def healthz() -> Health:
    """The service responds."""
    return Health(status="alive")


@router.get("/readyz", summary="Check that the service is ready", operation_id="readyz")
def readyz(lab: TheLab) -> Health:
    """The service can reach its database; otherwise 503 with the reason."""
    lab.events.newest()
    return Health(status="ready")


@router.get(
    "/metrics",
    summary="Read the metrics",
    operation_id="metrics",
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}, "description": "Prometheus' text format."}
    },
)
async def metrics(request: Request, lab: TheLab, hub: TheHub) -> Response:
    """Runs by status, queue, latencies, followers, at most a second old. Anyone who can reach the port can read these counts and the names of hosts."""
    gauges: Gauges = request.app.state.gauges
    return Response(await gauges.recent_text(lab, hub), media_type="text/plain; version=0.0.4; charset=utf-8")
