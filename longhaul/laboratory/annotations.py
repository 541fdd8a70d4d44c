"""Titles, tags and comments of this machine's kept runs, and of the experiments of its service."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longhaul.orchestrator.database.annotations import NOTHING, Annotation, Annotations
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.statuses import LONGEST_COMMENT, LONGEST_TAG, LONGEST_TITLE, MOST_TAGS
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import NotFound, PlanError
from longhaul.orchestrator.system.settings import load_settings


def annotate(
    subject: str, *, title: str | None = None, tags: Sequence[str] | None = None, comment: str | None = None
) -> dict[str, Any]:
    """Change the title, tags or comment of a kept run or an experiment, by its id or the start of it; all three as they are now.

    What is None stays. Nothing depends on them: they can change at any time.
    """
    check_words(title, tags, comment)
    store = Store(load_settings())
    key = _subject(store, subject)
    annotations = Annotations(store.database)
    if (title, tags, comment) == (None, None, None):
        return _row(key, annotations.of([key]).get(key, NOTHING))
    return _row(key, annotations.change(key, None, title=title, tags=tags, comment=comment))


def annotate_new(runs: Sequence[str], title: str | None, tags: Sequence[str]) -> None:
    """Give runs that have just been made a title and more tags."""
    annotations = Annotations(Store(load_settings()).database)
    known = annotations.of(runs)
    for run in dict.fromkeys(runs):
        more = [*known.get(run, NOTHING).tags, *tags] if tags else None
        annotations.change(run, None, title=title, tags=more)


def _subject(store: Store, start: str) -> str:
    """The id of the run or the experiment that begins with this."""
    try:
        return str(store.get(start)["run"])
    except NotFound as no_run:
        try:
            return Experiments(store.database).id_beginning(start)
        except NotFound:
            raise no_run from None


def _row(key: str, annotation: Annotation) -> dict[str, Any]:
    return {"id": key, "title": annotation.title, "tags": list(annotation.tags), "comment": annotation.comment}


def check_words(title: str | None, tags: Sequence[str] | None, comment: str | None = None) -> None:
    """PlanError for a title, tag or comment that is too long, or too many tags."""
    for name, text, most in (
        ("title", title, LONGEST_TITLE),
        ("comment", comment, LONGEST_COMMENT),
        *(("tag", tag, LONGEST_TAG) for tag in tags or ()),
    ):
        if text is not None and len(text) > most:
            what = f"a {name} has at most {most} characters, and this one {len(text)}"
            raise PlanError("annotating with the", name, what, "shorten it")
    if len(tags or ()) > MOST_TAGS:
        raise PlanError("annotating with", f"{len(tags or ())} tags", f"there may be {MOST_TAGS}", "leave some out")
