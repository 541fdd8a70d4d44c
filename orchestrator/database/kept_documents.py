"""The document of a kept run, read from SQLite's file without SQLAlchemy, which takes longer to load than such a run to be answered.

It reads only what this version wrote: the file is there, may be written, and has this version's tables. In any other case, and
after any error of SQLite, it finds nothing, and Catalog reads, migrates or reports.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from longhaul.orchestrator.database.statuses import HEAD, KEPT, PATIENCE_S


def read_document(file: Path, run_id: str, patience_s: float = PATIENCE_S) -> str | None:
    """The text of the document of exactly this run, if it is kept."""
    # SQLite writes files beside a database with a log, also to read it.
    if not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)):
        return None
    query = (
        "SELECT documents.document FROM documents JOIN runs ON runs.id = documents.run_id, alembic_version"
        " WHERE runs.id = ? AND runs.status IN (?, ?) AND alembic_version.version_num = ?"
    )
    try:
        address = f"file:{quote(str(file.absolute()))}?mode=rw"
        with closing(sqlite3.connect(address, patience_s, isolation_level=None, uri=True)) as connection:
            row = connection.execute(query, (run_id, *KEPT, HEAD)).fetchone()
    except sqlite3.Error:
        return None
    return None if row is None else str(row[0])
