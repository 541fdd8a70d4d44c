"""Values that are passed on without pydantic are those that typer's own conversion gives, for every parameter of every verb."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer import BadParameter
from typer.core import TyperArgument, TyperGroup, TyperOption
from typer.main import get_command

from longhaul.cli.main import app

VALUES: tuple[Any, ...] = (
    None,
    "",
    "quick",
    "run s",
    "é",
    "\udcff",
    "0",
    "7",
    "07",
    "64",
    "99999999999",
    "-1",
    "1.5",
    "yes",
    True,
    False,
    (),
    [],
    ["a", "b"],
    ("é",),
)


def _parameters(command: Any, name: str) -> Iterator[Any]:
    for parameter in command.get_params(command.context_class(command, info_name=name)):
        yield pytest.param(command, parameter, id=f"{name} {parameter.name}")
    if isinstance(command, TyperGroup):
        for verb in command.list_commands(None):  # type: ignore[arg-type]
            yield from _parameters(command.commands[verb], f"{name} {verb}")


@pytest.mark.parametrize(("command", "parameter"), list(_parameters(get_command(app), "longhaul")))
def test_a_value_is_that_of_typer(command: Any, parameter: Any) -> None:
    context = command.context_class(command)
    kind = TyperArgument if isinstance(parameter, TyperArgument) else TyperOption
    assert type(parameter) is not kind
    members = getattr(parameter.type_descriptor.annotation, "__members__", {})
    for value in (*VALUES, parameter.default, *members, *members.values()):
        ours, theirs = (
            _outcome(conversion, value, parameter, context)
            for conversion in (parameter.get_runtime_param(), kind.get_runtime_param(parameter))
        )
        assert ours == theirs, value


def _outcome(conversion: Any, value: Any, parameter: Any, context: Any) -> object:
    try:
        found = conversion.coerce(value, param=parameter, ctx=context)
    except BadParameter as error:
        return error.message
    return type(found), found
