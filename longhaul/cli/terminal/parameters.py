"""Parameters of commands: plain values are converted without pydantic.

typer converts each value by a pydantic model that it makes for it, even text to text and a default to itself. Loading pydantic takes
longer than most verbs. Plain text, the names of choices, whole numbers and missing values are converted here; any other value, and any
mistake, is left to typer.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import EnumType
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

# More digits are left to typer.
_MOST_DIGITS = 9


class _Conversion:
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
        if annotation is int and _is_number(value, self._parameter.type_descriptor.parameter_info):
            return int(value)
        if annotation is int and type(value) is int and value == self._parameter.default:
            return value
        return self._conversion().coerce(value, param=param, ctx=ctx)


class _Option(TyperOption):
    def get_runtime_param(self) -> Any:
        return _Conversion(self, super().get_runtime_param)


class _Argument(TyperArgument):
    def get_runtime_param(self) -> Any:
        return _Conversion(self, super().get_runtime_param)


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
    """Whether it is ASCII text: pydantic refuses other bytes."""
    return isinstance(value, str) and value.isascii()


def _is_number(value: Any, allowed: Any) -> bool:
    """Whether it is a whole number as Python prints it, within the limits."""
    if not (_is_plain(value) and value.isdecimal() and len(value) <= _MOST_DIGITS and str(int(value)) == value):
        return False
    return (allowed.min is None or int(value) >= allowed.min) and (allowed.max is None or int(value) <= allowed.max)
