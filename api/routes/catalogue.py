"""The catalogue: the names that an experiment may use."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import PlainTextResponse

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag, not_changed, tag
from longhaul.api.http.threads import takes_long
from longhaul.api.schemas.experiments import Problem
from longhaul.orchestrator.execution.backend_status import Place
from longhaul.orchestrator.execution.catalogues import CATALOGUES
from longhaul.orchestrator.kernels.build import find_kernels
from longhaul.orchestrator.preview.gallery import Gallery, gallery
from longhaul.orchestrator.spec.load import shipped_text
from longhaul.orchestrator.spec.model import Experiment

router = APIRouter(route_class=Reading, prefix="/catalogue", tags=["catalogue"])

Noun = Annotated[
    Literal["experiments", "topologies", "modules", "presets", "measures", "series", "backends", "published"],
    Path(description="The part of the catalogue.", examples=["measures"]),
]
KernelQuery = Annotated[str | None, Query(description="The kernel of the guests.", examples=["6.1"])]
Rows = list[dict[str, Any]]


@router.get("", summary="Read the whole catalogue", operation_id="read_catalogue")
def read_all(caller: Reader, response: Response, if_none_match: KnownTag = None) -> dict[str, Rows]:
    """Shipped experiments, topologies, modules with their parameters, presets, measures, series, backends, published values."""
    not_changed(tag("catalogue", _version()), if_none_match, response)
    return {noun: _rows(noun) for noun in CATALOGUES}


@router.get(
    "/places",
    summary="Read where runs can happen",
    operation_id="read_places",
    responses={404: {"model": Problem}},
)
@takes_long
def read_places(lab: TheLab, caller: Reader, kernel: KernelQuery = None) -> list[Place]:
    """Each backend with its place and clock, and what is missing for it here, checked at each request."""
    if kernel is not None:
        find_kernels(lab.settings, kernel)
    return lab.desk.places(kernel)


@router.get("/gallery", summary="Read the gallery of shipped experiments", operation_id="read_gallery")
def read_gallery(caller: Reader, response: Response, if_none_match: KnownTag = None) -> Gallery:
    """The shipped experiments in groups by question, each with its number of runs, estimated processor time, and what a small picture needs."""
    not_changed(tag("gallery", repr(gallery())), if_none_match, response)
    return gallery()


@router.get("/schema", summary="Read the schema of an experiment", operation_id="read_schema")
def read_schema(caller: Reader, response: Response, if_none_match: KnownTag = None) -> dict[str, Any]:
    """JSON Schema of an experiment's fields; `x-quantity` names a quantity, `x-catalogue` the part of the catalogue with the allowed names."""
    not_changed(tag("schema", repr(_schema())), if_none_match, response)
    return _schema()


@router.get(
    "/experiments/file",
    summary="Read a shipped experiment's file",
    operation_id="read_experiment_file",
    response_class=PlainTextResponse,
    responses={404: {"model": Problem}},
)
def read_file(
    caller: Reader,
    response: Response,
    name: Annotated[str, Query(max_length=128, description="The name of the experiment.", examples=["quick"])],
    if_none_match: KnownTag = None,
) -> PlainTextResponse:
    """Its YAML as written, with comments."""
    text = shipped_text(name)
    not_changed(tag("file", name, text), if_none_match, response)
    return PlainTextResponse(text, headers=dict(response.headers))


@router.get("/{noun}", summary="Read one part of the catalogue", operation_id="read_catalogue_part")
def read_one(noun: Noun, caller: Reader, response: Response, if_none_match: KnownTag = None) -> Rows:
    """The rows of one part, all of the same shape."""
    not_changed(tag("catalogue", noun, _version()), if_none_match, response)
    return _rows(noun)


@cache
def _schema() -> dict[str, Any]:
    return Experiment.model_json_schema()


@cache
def _rows(noun: str) -> Rows:
    return CATALOGUES[noun]()


@cache
def _version() -> str:
    return repr({noun: _rows(noun) for noun in CATALOGUES})
