"""`longhaul annotate`: titles, tags and comments of runs and experiments."""

from __future__ import annotations

from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import show_rows
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class AnnotateOptions:
    """The options of `longhaul annotate`."""

    subjects: Annotated[
        list[str], typer.Argument(metavar="ID...", help="Ids of runs or experiments, or the starts of them.")
    ]
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="The title; empty to remove it.")] = None
    tag: Annotated[list[str] | None, typer.Option("--tag", metavar="TAG", help="Add a tag.")] = None
    untag: Annotated[list[str] | None, typer.Option("--untag", metavar="TAG", help="Remove a tag.")] = None
    comment: Annotated[str | None, typer.Option(metavar="TEXT", help="The comment; empty to remove it.")] = None
    as_json: JsonOption = False


@command(app)
def annotate(options: AnnotateOptions) -> None:
    """Give runs or experiments a title, tags and a comment, or show those that they have."""
    from longhaul.laboratory.annotations import annotate

    rows = []
    for subject in options.subjects:
        row = annotate(subject)
        tags = None
        if options.tag or options.untag:
            removed = {" ".join(tag.split()).lower() for tag in options.untag or ()}
            tags = [tag for tag in [*row["tags"], *(options.tag or ())] if tag.lower() not in removed]
        rows.append(annotate(subject, title=options.title, tags=tags, comment=options.comment))
    shown = [row | {"tags": ", ".join(row["tags"])} for row in rows]
    show_rows("annotations", rows, shown, as_json=options.as_json)
