"""Texts that many runs share, each stored once: the programs that made a run, and the names of its measures.

A list of runs, or the map of a sweep of thousands, reads the key of a row and each text once, in place of every run's document.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, select

from longhaul.orchestrator.database.connection import insert_new
from longhaul.orchestrator.database.run_records import shared_in
from longhaul.orchestrator.database.tables import SHARED_TEXTS

Measure = tuple[str, str]


def share_texts(connection: Connection, document: Mapping[str, Any]) -> dict[str, str | None]:
    """Within a transaction: store the texts of a run's document; the columns of the run that name them."""
    keys, texts = shared_in(document)
    keep_texts(connection, texts)
    return keys


def keep_texts(connection: Connection, texts: Mapping[str, str]) -> None:
    """Within a transaction: store texts by their keys, except those that are stored."""
    insert_new(connection, SHARED_TEXTS, [{"key": key, "text": text} for key, text in texts.items()])


def texts_of(connection: Connection, keys: Iterable[str]) -> dict[str, str]:
    """The texts with these keys."""
    query = select(SHARED_TEXTS.c.key, SHARED_TEXTS.c.text).where(SHARED_TEXTS.c.key.in_(list(keys)))
    return dict(connection.execute(query).all())


def measures_in(texts: Iterable[str]) -> list[Measure]:
    """The measures of runs together: (flow, measure), the flow empty for the path and the run."""
    return sorted({(flow, measure) for text in texts for flow, measure in json.loads(text)})
