"""Comparisons of two experiments or two runs, pair by pair."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.threads import takes_long
from longhaul.api.lab import Lab
from longhaul.api.routes.runs import kept_run_id
from longhaul.orchestrator.analysis.gates import compare_documents
from longhaul.orchestrator.analysis.report.comparison_text import as_json
from longhaul.orchestrator.analysis.trace_differences import trace_differences
from longhaul.orchestrator.execution.evaluation import readable, readable_all
from longhaul.orchestrator.plan.run_document import RunDocument

router = APIRouter(route_class=Reading, prefix="/comparisons", tags=["comparisons"])

Side = Annotated[
    str,
    Query(
        pattern=r"^[0-9a-f]{16}$|^[0-9a-f]{20}$",
        description="The id of an experiment or a run.",
        examples=["5d41402abc4b2a76"],
    ),
]


@router.get(
    "",
    summary="Compare two experiments or runs",
    operation_id="compare",
    responses={404: {"description": "One of the sides does not exist."}},
)
@takes_long
def compare(
    a: Side,
    b: Side,
    lab: TheLab,
    caller: Reader,
    gate: Annotated[
        list[Annotated[str, Query(max_length=200)]] | None,
        Query(max_length=20, description="Measures that must not be worse in B.", examples=[["goodput(app)"]]),
    ] = None,
    min_effect: Annotated[
        str, Query(max_length=20, description="The smallest relevant change of a mean.", examples=["5 %"])
    ] = "2 %",
    trace: Annotated[
        bool, Query(description="Also find the first record in which the traces of each pair differ.", examples=[True])
    ] = False,
) -> dict[str, Any]:
    """The document of `longhaul compare A B --json`: each measure with its change, interval and verdict."""
    sides = a, _documents(lab, a), b, _documents(lab, b)
    found = compare_documents(*sides, gate or [], min_effect, lab.store.run_document)
    return as_json(found, trace_differences(found, lab.store) if trace else None)


def _documents(lab: Lab, key: str) -> list[RunDocument]:
    if len(key) == 16:
        lab.experiments.get(key)
        return readable_all(lab.experiments.documents(key), lab.store)
    return [readable(lab.store.get(kept_run_id(lab, key)), lab.store)]
