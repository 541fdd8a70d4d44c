"""Mistakes of an experiment as lines that people read: the field, the value there, what is allowed, and the value that was probably meant.

`mended` is the document as its author probably meant it, in which mistakes show that others hid.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from longhaul.orchestrator.spec.fields import REFUSED
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sweep import below, part_of
from longhaul.orchestrator.spec.yaml_text import Document, Location, path_of
from longhaul.orchestrator.system.errors import Allowed, FieldProblem, allowed_instead

_LONGEST_READ = 60
_MOST_LINES = 50

_EXPECTED_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "string": "text",
    "list": "a list",
    "dict": "a mapping of fields",
    "model": "a mapping of fields",
    "model_attributes": "a mapping of fields",
}


def mistakes_of(document: Document, errors: Sequence[ErrorDetails]) -> list[FieldProblem]:
    """One problem per error; a field that is missing because its name is misspelt is reported once."""
    meant = {(*error["loc"][:-1], *_near(error["loc"])) for error in errors if error["type"] == "extra_forbidden"}
    return [_mistake_of(document, error) for error in errors if error["type"] != "missing" or error["loc"] not in meant]


def _near(location: Location) -> list[str]:
    return difflib.get_close_matches(str(location[-1]), _known_fields(location[:-1]), 1)


def _mistake_of(document: Document, error: ErrorDetails) -> FieldProblem:
    location, kind, context = error["loc"], error["type"], error.get("ctx", {})
    if kind == "missing":
        description = _describe(location)
        return field_problem(document, location, None, f"missing{f'; needed: {description}' if description else ''}")
    if kind == "extra_forbidden":
        known = _known_fields(location[:-1])
        what = allowed_instead(f"unknown field; known: {', '.join(known)}", str(location[-1]), known)
        return replace(field_problem(document, location, None, what), misnamed=True)
    meant = None
    if kind == REFUSED:
        allowed, meant = str(context["allowed"]), context.get("meant")
    elif kind in ("greater_than_equal", "less_than_equal", "greater_than", "less_than"):
        allowed = "a number " + " ".join(
            f"{_BOUNDS[name]} {value}" for name, value in context.items() if name in _BOUNDS
        )
    elif kind in ("too_short", "too_long"):
        allowed = (
            f"{context['min_length']} or more entries"
            if kind == "too_short"
            else f"{context['max_length']} entries at most"
        )
    else:
        allowed = _EXPECTED_TYPES.get(kind.removesuffix("_type"), error["msg"])
    allowed = f"allowed: {allowed}"
    return field_problem(document, location, error["input"], Allowed(allowed, meant), null=error["input"] is None)


_BOUNDS = {"ge": "from", "le": "up to", "gt": "above", "lt": "below"}


def with_allowed(allowed: Allowed | str) -> Allowed | str:
    """What is allowed, after the value that was read."""
    if isinstance(allowed, Allowed):
        return replace(allowed, text=f"allowed: {allowed.text}")
    return f"allowed: {allowed}"


def field_problem(
    document: Document, location: Location, read: object, what: Allowed | str, *, null: bool = False
) -> FieldProblem:
    """The mistake in one field; `read` is the value there."""
    return FieldProblem(
        location,
        path_of(document.data, location),
        document.line(location),
        None if read is None and not null else _shown(read),
        str(what),
        what.nearest if isinstance(what, Allowed) else None,
    )


def _shown(read: object) -> str:
    """The value that was read, as JSON, shortened."""
    shown = json.dumps(read, ensure_ascii=False, default=str) if read is not None else "nothing"
    return shown if len(shown) <= _LONGEST_READ else shown[: _LONGEST_READ - 3] + "..."


def _known_fields(location: Location) -> list[str]:
    model = _model_at(location)
    return list(model.model_fields) if model else []


def _describe(location: Location) -> str:
    model = _model_at(location[:-1])
    field = model.model_fields.get(str(location[-1])) if model else None
    return (field.description or "") if field else ""


def _model_at(location: Location) -> type[BaseModel] | None:
    place: Any = Experiment
    for key in location:
        place = below(place, key)
    return part_of(place)


def cut(problems: Sequence[FieldProblem | str]) -> list[FieldProblem | str]:
    """The first of them, and the number of the others."""
    rest = len(problems) - _MOST_LINES
    return [*problems[:_MOST_LINES], f"and {rest} more"] if rest > 0 else [*problems]


# Names of people's choice, for fields that must be there: mistakes that mention them are consequences.
_STAND_IN = "not-named"
_STAND_INS: Mapping[str, Any] = {"experiment": _STAND_IN, "name": _STAND_IN, "duration": "60 s"}
# Without these nothing else can be read.
_NEEDED = ("path", "flows", "topology")


class Mended:
    """A document as it was probably meant, which shows the mistakes that others hide."""

    def __init__(self, document: Document) -> None:
        self._original = document
        self.document = replace(document, data=deepcopy(document.data))
        self._written: dict[Location, Location] = {}
        self._touched: set[Location] = set()
        self._guessed = False

    def mend(self, problems: Sequence[FieldProblem | str]) -> bool:
        """Correct these, or leave out what cannot be corrected; whether that changed anything."""
        changes = [self._mend(one) for one in problems if isinstance(one, FieldProblem)]
        return any(changes)

    def hidden(self, problems: Sequence[FieldProblem | str]) -> list[FieldProblem]:
        """Those that are no consequence of the corrections, with their locations in the text."""
        return [
            self._in_text(one)
            for one in problems
            if isinstance(one, FieldProblem)
            and one.location not in self._touched
            # Without a field that had to be left out, only unknown names are certain to be mistakes.
            and not (self._guessed and one.nearest is None)
            and _STAND_IN not in str(one)
        ]

    def _mend(self, one: FieldProblem) -> bool:
        if one.location in self._touched:
            return False
        self._touched.add(one.location)
        *way, last = one.location or ("",)
        place: Any = self._at(way)
        if one.misnamed and isinstance(place, dict) and last in place:
            return self._rename(place, tuple(way), str(last), one.nearest)
        if one.nearest is not None and _is_in(last, place):
            place[last] = one.nearest
            return True
        self._guessed = True
        if last in _STAND_INS and isinstance(place, dict):
            place[last] = _STAND_INS[str(last)]
            return True
        if isinstance(place, dict) and last in place:
            del place[last]
            return True
        section = str(one.location[0]) if one.location else ""
        return section not in _NEEDED and self.document.data.pop(section, None) is not None

    def _at(self, way: Sequence[str | int]) -> Any:
        place: Any = self.document.data
        for key in way:
            place = place[key] if _is_in(key, place) else None
        return place

    def _rename(self, place: dict[str, Any], way: Location, written: str, meant: str | None) -> bool:
        value = place.pop(written)
        if meant is not None and meant not in place:
            place[meant] = value
            self._written[(*way, meant)] = (*way, written)
        else:
            self._guessed = True
        return True

    def _in_text(self, one: FieldProblem) -> FieldProblem:
        """The problem at the field as it is written."""
        for length in range(len(one.location), 0, -1):
            if one.location[:length] in self._written:
                at = (*self._written[one.location[:length]], *one.location[length:])
                line = self._original.line(at)
                return replace(one, location=at, field=path_of(self._original.data, at), line=line)
        return one


def _is_in(key: str | int, place: object) -> bool:
    """Whether a mapping or a list has this key or position; a location also names the alternatives of a field, which no data has."""
    if isinstance(place, dict):
        return key in place
    return isinstance(place, list) and isinstance(key, int) and key < len(place)
