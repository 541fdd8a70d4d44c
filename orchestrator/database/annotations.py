"""Titles, tags and comments that people give runs and experiments, in any language.

    annotations          one row for each run or experiment that has any, by its id
    annotation_words     the words of its title, and `tag=night` for each tag: searches find them as they find words of a line

They are no part of a run or an experiment: they change at any time, and no result, id or baseline depends on them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, delete, func, insert, select

from longhaul.orchestrator.database.connection import InDatabase, chunks
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.search_fields import normal, word
from longhaul.orchestrator.database.tables import ANNOTATION_WORDS, ANNOTATIONS
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_TAG = "tag="


@dataclass(frozen=True, slots=True)
class Annotation:
    """The words of people on a run or an experiment."""

    title: str = ""
    tags: tuple[str, ...] = ()
    comment: str = ""

    def changed(
        self, title: str | None = None, tags: Sequence[str] | None = None, comment: str | None = None
    ) -> Annotation:
        """With these values in place of the earlier ones; None keeps a value. Spaces around and between words count once."""
        new = self
        if title is not None:
            new = replace(new, title=_spaced(title))
        if tags is not None:
            by_word = {word("tag", tag): _spaced(tag) for tag in reversed(tags) if tag.strip()}
            new = replace(new, tags=tuple(reversed(by_word.values())))
        if comment is not None:
            new = replace(new, comment=comment.strip())
        return new

    def words(self) -> list[str]:
        """The words that a search finds."""
        return list(dict.fromkeys([*normal(self.title).split(), *(word("tag", tag) for tag in self.tags)]))


NOTHING = Annotation()


class Annotations(InDatabase):
    """The annotations in one database."""

    def of(self, subjects: Sequence[str]) -> dict[str, Annotation]:
        """Those of runs or experiments, by their ids."""
        found: dict[str, Annotation] = {}
        with self._database.read() as connection:
            for some in chunks(subjects):
                query = select(ANNOTATIONS).where(ANNOTATIONS.c.subject.in_(some))
                found |= {row.subject: _annotation(row) for row in connection.execute(query)}
        return found

    def change(
        self,
        subject: str,
        by: str | None,
        *,
        title: str | None = None,
        tags: Sequence[str] | None = None,
        comment: str | None = None,
    ) -> Annotation:
        """Change what is given; what remains."""
        with self._database.write() as connection:
            query = select(ANNOTATIONS).where(ANNOTATIONS.c.subject == subject)
            row = connection.execute(query).one_or_none()
            new = (NOTHING if row is None else _annotation(row)).changed(title, tags, comment)
            forget_annotations(connection, [subject])
            annotate(connection, subject, new, by)
        return new

    def tags(self, limit: int) -> list[tuple[str, int]]:
        """Tags in use with their numbers of runs and experiments, the most frequent first, in the spelling of the newest."""
        count = func.count().label("count")
        query = (
            select(ANNOTATION_WORDS.c.word, count)
            .where(ANNOTATION_WORDS.c.word.startswith(_TAG, autoescape=True))
            .group_by(ANNOTATION_WORDS.c.word)
            .order_by(count.desc(), ANNOTATION_WORDS.c.word)
            .limit(limit)
        )
        with self._database.read() as connection:
            counts: dict[str, int] = dict(connection.execute(query).all())
            of_tags = select(ANNOTATION_WORDS.c.subject).where(ANNOTATION_WORDS.c.word.in_(counts))
            rows = select(ANNOTATIONS.c.tags).where(ANNOTATIONS.c.subject.in_(of_tags))
            spelt: dict[str, str] = {}
            for (written,) in connection.execute(rows.order_by(ANNOTATIONS.c.changed_at.desc())):
                for tag in json.loads(written):
                    spelt.setdefault(word("tag", tag), tag)
        return [(spelt.get(one, one.removeprefix(_TAG)), number) for one, number in counts.items()]


def annotate(connection: Connection, subject: str, annotation: Annotation, by: str | None) -> None:
    """Within a transaction: write the annotation of a run or an experiment that has none; nothing for an empty one."""
    if annotation == NOTHING:
        return
    row = {
        "subject": subject,
        "title": annotation.title,
        "tags": json.dumps(annotation.tags, ensure_ascii=False),
        "comment": annotation.comment,
        "changed_at": now(),
        "changed_by": by,
    }
    connection.execute(insert(ANNOTATIONS).values(row))
    if words := annotation.words():
        connection.execute(insert(ANNOTATION_WORDS), [{"word": one, "subject": subject} for one in words])


def forget_annotations(connection: Connection, subjects: Iterable[str]) -> None:
    """Within a transaction: delete the annotations of runs or experiments."""
    for some in chunks(list(subjects)):
        connection.execute(delete(ANNOTATIONS).where(ANNOTATIONS.c.subject.in_(some)))


def _annotation(row: Any) -> Annotation:
    return Annotation(row.title, tuple(json.loads(row.tags)), row.comment)


def _spaced(text: str) -> str:
    return " ".join(text.split())
