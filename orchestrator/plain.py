"""Frozen structures as plain data, and back: each field under its own name, unless its metadata say otherwise.

key("from")   the field's name in the data           SELDOM   left out of the data where it has its default
BESIDE        a mapping whose items lie beside the structure's own fields
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

SELDOM: Mapping[str, Any] = {"seldom": True}
BESIDE: Mapping[str, Any] = {"beside": True}


def key(name: str) -> Mapping[str, Any]:
    """Metadata of a field that has this name in the data."""
    return {"key": name}


def encode(value: Any) -> Any:
    """A structure, or what it holds, as JSON has it."""
    if is_dataclass(value):
        data: dict[str, Any] = {}
        for part in fields(value):
            item = getattr(value, part.name)
            if part.metadata.get("beside"):
                data |= encode(item)
            elif not (part.metadata.get("seldom") and item == part.default):
                data[_key(part)] = encode(item)
        return data
    if isinstance(value, Mapping):
        return {name: encode(item) for name, item in value.items()}
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def decode(kind: Any, value: Any) -> Any:
    """The structure of that kind in plain data."""
    if is_dataclass(kind):
        return kind(**dict(_parts(kind, value)))  # type: ignore[operator]
    origin, args = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else decode(_chosen(args, value), value)
    if origin is tuple:
        kinds = [args[0]] * len(value) if args[-1] is Ellipsis else args
        return tuple(decode(item_kind, item) for item_kind, item in zip(kinds, value, strict=True))
    return value


def _parts(kind: Any, value: Mapping[str, Any]) -> Any:
    hints, known = _hints(kind), {_key(part) for part in fields(kind)}
    for part in fields(kind):
        if part.metadata.get("beside"):
            yield part.name, {name: _frozen(item) for name, item in value.items() if name not in known}
        elif _key(part) in value or part.default is MISSING:
            yield part.name, decode(hints[part.name], value[_key(part)])


def _frozen(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item


def _key(part: Field[Any]) -> str:
    return str(part.metadata.get("key", part.name))


def _chosen(kinds: Sequence[Any], value: Any) -> Any:
    """The member of a union that a value is: of several structures, the one that has its keys."""
    known = [kind for kind in kinds if kind is not type(None)]
    return next(kind for kind in known if len(known) == 1 or set(value) <= {part.name for part in fields(kind)})


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)
