"""Frozen dataclasses to plain data and back: each field under its own name, unless its metadata name another.

key("from")   the field's name in the data           SELDOM   omitted from the data if it has its default
BESIDE        a mapping whose items are written next to the dataclass's own fields
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

SELDOM: Mapping[str, Any] = {"seldom": True}
BESIDE: Mapping[str, Any] = {"beside": True}

_Reader = Callable[[Any], Any]
_Writer = Callable[[Any], Any]
_ALREADY_PLAIN = frozenset({str, int, float, bool, type(None)})


def key(name: str) -> Mapping[str, Any]:
    """Metadata of a field that has this name in the data."""
    return {"key": name}


def encode(value: Any) -> Any:
    """A dataclass or a value in one, as JSON data."""
    kind: Any = type(value)
    return value if kind in _ALREADY_PLAIN else _writer(kind)(value)


@cache
def _writer(kind: Any) -> _Writer:
    """The function that makes plain data of that kind; cached, because a run is written several times and has hundreds of parts."""
    if is_dataclass(kind):
        return _structure_writer(kind)
    if issubclass(kind, Mapping):
        return lambda value: {name: encode(item) for name, item in value.items()}
    if issubclass(kind, tuple):
        return lambda value: [encode(item) for item in value]
    return lambda value: value


def _structure_writer(kind: Any) -> _Writer:
    parts = [
        (part.name, _key(part), bool(part.metadata.get("seldom")), part.default, bool(part.metadata.get("beside")))
        for part in fields(kind)
    ]

    def write(value: Any) -> Any:
        data: dict[str, Any] = {}
        for name, its, seldom, default, beside in parts:
            item = getattr(value, name)
            if beside:
                data |= encode(item)
            elif not (seldom and item == default):
                data[its] = encode(item)
        return data

    return write


def decode(kind: Any, value: Any) -> Any:
    """The dataclass of that kind from plain data."""
    return _reader(kind)(value)


@cache
def _reader(kind: Any) -> _Reader:
    """The function that reads plain data as that kind; cached, because runs are read by the thousand."""
    if is_dataclass(kind):
        return _structure_reader(kind)
    origin, args = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return lambda value: None if value is None else _reader(_chosen(args, value))(value)
    if origin is tuple and args[-1] is Ellipsis:
        one = _reader(args[0])
        return lambda value: tuple(map(one, value))
    if origin is tuple:
        each = [_reader(arg) for arg in args]
        return lambda value: tuple(read(item) for read, item in zip(each, value, strict=True))
    return lambda value: value


def _structure_reader(kind: Any) -> _Reader:
    hints, known = get_type_hints(kind), {_key(part) for part in fields(kind)}
    beside = next((part.name for part in fields(kind) if part.metadata.get("beside")), None)
    parts = [
        (part.name, _key(part), part.default is MISSING, _reader(hints[part.name]))
        for part in fields(kind)
        if part.name != beside
    ]

    def read(value: Mapping[str, Any]) -> Any:
        values = {name: item(value[its]) for name, its, needed, item in parts if needed or its in value}
        if beside:
            values[beside] = {name: _frozen(item) for name, item in value.items() if name not in known}
        return kind(**values)

    return read


def _frozen(item: Any) -> Any:
    return tuple(item) if isinstance(item, list) else item


def _key(part: Field[Any]) -> str:
    return str(part.metadata.get("key", part.name))


def _chosen(kinds: Sequence[Any], value: Any) -> Any:
    """The member of a union for a value: of several dataclasses, the one that has its keys."""
    known = [kind for kind in kinds if kind is not type(None)]
    return next(kind for kind in known if len(known) == 1 or set(value) <= {part.name for part in fields(kind)})
