"""The points of a sweep: every combination of the fields' values, or the list of points as it was written."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import PurePath
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.yaml_text import locate
from longhaul.orchestrator.system.errors import Allowed, allowed_instead
from longhaul.orchestrator.system.units import spell_number

# These fields name the experiment, or determine how its runs are counted and evaluated: no point may change them.
_FIXED = ("experiment", "about", "topology", "sweep", "repeats", "seed", "aggregate", "capture", "expect")
MOST_POINTS = 100_000

Point = Mapping[str, Any]
Sweep = Mapping[str, list[Any]] | list[dict[str, Any]] | None


class UnknownField(KeyError):
    """A path without a field, and what is allowed instead."""

    def __init__(self, allowed: Allowed) -> None:
        super().__init__(str(allowed))
        self.allowed = allowed


def expand(sweep: Sweep) -> Iterator[Point]:
    """Each point, the last field varying fastest; one empty point without a sweep."""
    if isinstance(sweep, list):
        yield from sweep
        return
    fields = sweep or {}
    for values in itertools.product(*fields.values()):
        yield dict(zip(fields, values, strict=True))


def count_points(sweep: Sweep) -> int:
    """The number of points, without making them."""
    if isinstance(sweep, list):
        return len(sweep)
    count = 1
    for values in (sweep or {}).values():
        count *= len(values)
    return count


def point_texts(point: Point) -> dict[str, str]:
    """A point as tables show it."""
    return {path: value_text(_without_folder(path, value)) for path, value in point.items()}


def _without_folder(path: str, value: object) -> object:
    """The value, of a recording's file without its folder: where it is changes no result."""
    if path.endswith("recording.file") and isinstance(value, str):
        return PurePath(value).name
    return value


def swept_texts(sweep: Sweep) -> dict[str, list[str]]:
    """The fields of a sweep with their values as tables show them, in order."""
    found: dict[str, dict[str, None]] = {}
    for point in expand(sweep):
        for field, text in point_texts(point).items():
            found.setdefault(field, {})[text] = None
    return {field: list(texts) for field, texts in found.items()}


def value_text(value: object) -> str:
    """A value of a sweep as tables show it: of a flow, its variant, preset or congestion control.

    Of a list of flows, each of these once.
    """
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, Mapping):
        return str(next((value[name] for name in ("variant", "preset", "cc") if value.get(name)), dict(value)))
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return " + ".join(dict.fromkeys(map(value_text, value)))
    return str(value)


def alike(sweep: Sweep) -> str | None:
    """The text of two different points that look the same in tables; their results would be taken for repeats."""
    if not isinstance(sweep, list):
        values = {path: [spell_number(value_text(value)) for value in listed] for path, listed in (sweep or {}).items()}
        counted = ((path, Counter(texts)) for path, texts in values.items())
        return next((f"{path}={text}" for path, texts in counted for text in texts if texts[text] > 1), None)
    seen: dict[tuple[tuple[str, str], ...], Point] = {}
    for point in sweep:
        texts = {path: spell_number(text) for path, text in point_texts(point).items()}
        key = tuple(sorted(texts.items()))
        if key in seen:
            return ", ".join(f"{path}={text}" for path, text in texts.items())
        seen[key] = point
    return None


def check_field(data: Mapping[str, Any], path: str, *, swept: bool = False) -> None:
    """KeyError unless the path leads to a field of the format; an UnknownField lists the known ones."""
    parts = path.split(".")
    if swept and parts[0] in _FIXED:
        raise KeyError(f"{path}: not a field that may differ between runs of a sweep")
    place: Any = Experiment
    for depth, key in enumerate(locate(data, path)):
        known = part_of(place)
        if isinstance(key, str) and known is not None and key not in known.model_fields:
            known_text = f"{'.'.join(parts[: depth + 1])}: unknown field; known: {', '.join(known.model_fields)}"
            found = allowed_instead(known_text, key, known.model_fields)
            whole = found.nearest and ".".join([*parts[:depth], found.nearest, *parts[depth + 1 :]])
            raise UnknownField(replace(found, nearest=whole))
        place = below(place, key)


def part_of(place: Any) -> type[BaseModel] | None:
    """The model at a place of this type, directly, optionally or in a list; None for values and mappings by name."""
    if isinstance(place, type) and issubclass(place, BaseModel):
        return place
    if get_origin(place) is dict:
        return None
    return next((part for inner in get_args(place) if (part := part_of(inner)) is not None), None)


def below(place: Any, key: str | int) -> Any:
    """The type below a key; None where any is allowed."""
    if isinstance(key, int):
        return place
    if get_origin(place) is dict:
        return get_args(place)[1]
    part = part_of(place)
    return part.model_fields[key].annotation if part is not None and key in part.model_fields else None
