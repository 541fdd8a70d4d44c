"""The catalogue: everything an experiment may name."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Response

from api.answers import KnownTag, not_changed, tag
from api.auth import Reader
from api.reading import Reading
from orchestrator.catalogues import CATALOGUES

router = APIRouter(route_class=Reading, prefix="/catalogue", tags=["catalogue"])

Noun = Annotated[
    Literal["experiments", "topologies", "modules", "presets", "measures", "series", "backends", "published"],
    Path(description="Which part.", examples=["measures"]),
]
Rows = list[dict[str, Any]]


@router.get("", summary="Read the whole catalogue", operation_id="read_catalogue")
def read_all(caller: Reader, response: Response, if_none_match: KnownTag = None) -> dict[str, Rows]:
    """Shipped experiments, topologies, modules with their parameters, presets, measures, series, backends, published values."""
    not_changed(tag("catalogue", _version()), if_none_match, response)
    return {noun: _rows(noun) for noun in CATALOGUES}


@router.get("/{noun}", summary="Read one part of the catalogue", operation_id="read_catalogue_part")
def read_one(noun: Noun, caller: Reader, response: Response, if_none_match: KnownTag = None) -> Rows:
    """The rows of one noun, all of one shape."""
    not_changed(tag("catalogue", noun, _version()), if_none_match, response)
    return _rows(noun)


@cache
def _rows(noun: str) -> Rows:
    return CATALOGUES[noun]()


@cache
def _version() -> str:
    return repr({noun: _rows(noun) for noun in CATALOGUES})
