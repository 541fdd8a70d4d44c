"""Parameters of commands whose values need no conversion, and get none.

typer converts each value by a pydantic model that it makes for it, also a text to a text and a default to itself. Loading pydantic takes
longer than most verbs, so a value that is known to come back unchanged is passed on. Any other is converted as before.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import EnumType
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption


class _Unconverted:
    """The conversion of one parameter, made when a value needs it."""

    def __init__(self, parameter: Any, conversion: Any) -> None:
        self._parameter, self._conversion = parameter, conversion

    def coerce(self, value: Any, param: Any, ctx: Any) -> Any:
        """The value as the verb gets it."""
        several = param.multiple or param.nargs == -1
        if value is None:
            return () if several else None
        annotation = self._parameter.type_descriptor.annotation
        if several and annotation == list[str] and isinstance(value, list | tuple) and all(map(_is_plain, value)):
            return list(value)
        if not several and annotation is str and _is_plain(value):
            return value
        if isinstance(annotation, EnumType) and value in annotation.__members__.values():
            return annotation(value)
        if annotation is int and type(value) is int and value == self._parameter.default:
            return value
        return self._conversion().coerce(value, param=param, ctx=ctx)


class _Option(TyperOption):
    def get_runtime_param(self) -> Any:
        return _Unconverted(self, super().get_runtime_param)


class _Argument(TyperArgument):
    def get_runtime_param(self) -> Any:
        return _Unconverted(self, super().get_runtime_param)


_KINDS: dict[type, type] = {TyperOption: _Option, TyperArgument: _Argument}


class Command(TyperCommand):
    """A verb."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, with that of --help."""
        return _lightened(super().get_params(ctx))


class Group(TyperGroup):
    """A group of verbs."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Its parameters, with that of --help."""
        return _lightened(super().get_params(ctx))


def _lightened(parameters: Iterable[Any]) -> list[Any]:
    """The same parameters; typer makes them itself, and has no setting for their class."""
    found = list(parameters)
    for one in found:
        one.__class__ = _KINDS.get(type(one), type(one))
    return found


def _is_plain(value: Any) -> bool:
    """Whether it is text without bytes that are none, which pydantic refuses."""
    return isinstance(value, str) and value.isascii()
