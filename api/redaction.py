"""Redacts errors for callers: without paths of this machine and without the address of the database.

Folders are replaced by the settings that name them. Messages of a database server may contain its address and users: they go to the log,
with the request's id, and the caller gets a general error.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from longhaul.api.lab import Lab
from longhaul.orchestrator.system.errors import LonghaulError, RecordUnreachable, ResultsError
from longhaul.orchestrator.system.installation import FILES

_DATABASE = "the database"


class Outward:
    """The redaction of one lab."""

    def __init__(self, lab: Lab) -> None:
        self._database = lab.store.database
        settings = lab.settings
        # If two settings name the same folder, the later one is used.
        # Unchanged if the user has no home.
        home = Path(os.path.expanduser("~"))  # noqa: PTH111
        named = {
            **({home: "HOME"} if home.is_absolute() else {}),
            Path(tempfile.gettempdir()): "TMPDIR",
            Path(sys.prefix): "Python",
            FILES: "Longhaul",
            Path(__file__).resolve().parents[1]: "Longhaul",
            settings.guest_memory_dir: "LONGHAUL_GUEST_MEMORY",
            settings.cache: "LONGHAUL_CACHE",
            settings.home: "LONGHAUL_HOME",
            settings.hosts: settings.hosts.name,
        }
        # Folders as set and with links resolved, deeper ones first, without the root folder.
        places = {str(place): name for folder, name in named.items() for place in (folder, folder.resolve())}
        self._names = sorted(
            ((place, name) for place, name in places.items() if place != "/"), key=lambda one: -len(one[0])
        )

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
        for place, name in self._names:
            text = text.replace(place, name)
        return text
