"""Plans: what an experiment resolves to, before it runs and while it is being written."""

from __future__ import annotations

from fastapi import APIRouter

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import EXPERIMENT_FILE, Reading
from longhaul.api.schemas.experiments import AskedFor, Plan, Preview
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.preview.describe import describe_plan

router = APIRouter(route_class=Reading, tags=["plans"])


@router.post(
    "/plans",
    summary="Resolve an experiment without running it",
    operation_id="make_plan",
    openapi_extra=EXPERIMENT_FILE,
)
def make_plan(asked: AskedFor, lab: TheLab, caller: Reader) -> Plan:
    """Every resolved number of an experiment, its lint and its cost. Nothing is stored."""
    plan = lab.desk.plan(asked.as_request(), trusted=caller.may("admin"))
    return Plan(
        experiment=plan.experiment.experiment,
        runs=len(plan.runs),
        lint=list(plan.lint),
        wall_estimate_s=round(sum(wall_estimate_s(run) for run in plan.runs), 3),
        text=describe_plan(plan),
        first=plan.runs[0].as_json() if plan.runs else {},
    )


@router.post(
    "/plans/preview",
    summary="Preview an experiment",
    operation_id="preview_plan",
    openapi_extra=EXPERIMENT_FILE,
)
def preview_plan(asked: AskedFor, lab: TheLab, caller: Reader) -> Preview:
    """Numbers, a drawing, the cost, how many runs are kept, and what is missing here. Only a sample of a large sweep is resolved."""
    found = lab.desk.preview(asked.as_request(), trusted=caller.may("admin"))
    preview = found.preview
    return Preview(
        experiment=preview.plan.experiment.experiment,
        runs=preview.runs,
        points=preview.points,
        resolved=list(preview.resolved),
        fields=dict(preview.fields),
        numbers=preview.numbers,
        drawing=preview.drawing,
        lint=list(preview.plan.lint),
        wall_estimate_s=preview.wall_s,
        slots=lab.settings.jobs,
        missing=list(found.missing),
        kept=found.kept,
    )
