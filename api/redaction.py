"""Redacts errors for callers: without paths of this machine and without the address of the database.

Folders are replaced by the settings that name them. Messages of a database server may contain its address and users: they go to the log,
with the request's id, and the caller gets a general error.
"""

from __future__ import annotations

from longhaul.api.lab import Lab
from longhaul.orchestrator.system.errors import LonghaulError, RecordUnreachable, ResultsError
from longhaul.orchestrator.system.folder_names import FolderNames

_DATABASE = "the database"


class Outward:
    """The redaction of one lab."""

    def __init__(self, lab: Lab) -> None:
        self._database = lab.store.database
        self._folders = FolderNames(lab.settings)

    def error(self, error: LonghaulError) -> LonghaulError:
        """The redacted error; for errors of a database server, a general one."""
        if (
            self._database.file is not None
            or not isinstance(error, ResultsError)
            or error.subject != self._database.name
        ):
            return error
        hint = (
            "try again in a moment" if isinstance(error, RecordUnreachable) else "the operator finds details in the log"
        )
        return type(error)(error.attempting, _DATABASE, "its server does not respond correctly", hint)

    def text(self, text: str) -> str:
        """A text with folders of this machine replaced by the names of their settings."""
        return self._folders.in_text(text)
