"""How a verb becomes a command: it takes one frozen object, whose fields are the options of the command line.

    @dataclass(frozen=True)             @command(app)
    class ShowOptions:                  def show(options: ShowOptions) -> None:
        run: RunArgument                    ...
        as_json: JsonOption = False

A verb that returns a number ends the process with that exit code.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints

import typer

from longhaul.cli.terminal.parameters import Command, Group

Verb = Callable[..., int | None]


def verb_app(**settings: Any) -> typer.Typer:
    """For a module with one verb."""
    return typer.Typer(add_completion=False, **settings)


def group_app(about: str) -> typer.Typer:
    """For a module with several verbs, as in `longhaul token add`."""
    return typer.Typer(cls=Group, help=about, no_args_is_help=True, add_completion=False, callback=lambda: None)


def command(app: typer.Typer, name: str | None = None, **settings: Any) -> Callable[[Verb], Verb]:
    """Make a verb a command of the app, with an option for each field of its options object."""

    def register(verb: Verb) -> Verb:
        app.command(name, cls=Command, **settings)(_with_options(verb))
        return verb

    return register


def _with_options(verb: Verb) -> Callable[..., None]:
    options: Any = get_type_hints(verb).get("options")
    if options is None:

        def run_verb() -> None:
            _end(verb())

        run_verb.__doc__, run_verb.__name__ = verb.__doc__, verb.__name__
        return run_verb

    def run_with_options(**values: Any) -> None:
        _end(verb(options(**values)))

    hints = get_type_hints(options, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(options)
    ]
    run_with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run_with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    run_with_options.__doc__, run_with_options.__name__ = verb.__doc__, verb.__name__
    return run_with_options


def _end(code: int | None) -> None:
    if code is not None:
        raise typer.Exit(code)
