"""The verb that lists what there is."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from longhaul.cli.options import JsonOption


class Noun(StrEnum):
    """What can be listed."""

    experiments = "experiments"
    topologies = "topologies"
    modules = "modules"
    presets = "presets"
    measures = "measures"
    series = "series"
    backends = "backends"
    published = "published"
    runs = "runs"
    hosts = "hosts"


def list_(
    noun: Annotated[Noun, typer.Argument(help="What to list.")] = Noun.experiments,
    as_json: JsonOption = False,
    limit: Annotated[int, typer.Option(min=1, help="At most this many runs, newest first.")] = 50,
) -> None:
    """List what there is."""
    from longhaul.cli.verbs import list_hosts, list_nouns

    if noun is Noun.hosts:
        list_hosts(as_json=as_json)
    else:
        list_nouns(noun.value, as_json=as_json, limit=limit)
