"""What callers are told of an error: its sentence, without where on this machine things lie and without the record's address.

Folders are called by the settings that name them. What a record's server says of itself may hold its address and its users: the log has
it, under the request's id, and the caller learns that there is something.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from longhaul.api.lab import Lab
from longhaul.orchestrator.system.errors import LonghaulError, RecordUnreachable, ResultsError
from longhaul.orchestrator.system.installation import FILES

_RECORD = "the record"


class Outward:
    """Of one lab."""

    def __init__(self, lab: Lab) -> None:
        self._database = lab.store.database
        settings = lab.settings
        # Of two names for one folder the later one holds.
        named = {
            Path.home(): "HOME",
            Path(tempfile.gettempdir()): "TMPDIR",
            Path(sys.prefix): "Python",
            FILES: "Longhaul",
            Path(__file__).resolve().parents[1]: "Longhaul",
            settings.guest_memory_dir: "LONGHAUL_GUEST_MEMORY",
            settings.cache: "LONGHAUL_CACHE",
            settings.home: "LONGHAUL_HOME",
            settings.hosts: settings.hosts.name,
        }
        # Both as they are set and as links lead; what lies deeper comes first. A root folder names nothing.
        places = {str(place): name for folder, name in named.items() for place in (folder, folder.resolve())}
        self._names = sorted(
            ((place, name) for place, name in places.items() if place != "/"), key=lambda one: -len(one[0])
        )

    def error(self, error: LonghaulError) -> LonghaulError:
        """The same error, or of a record on a server one that says no more than that."""
        if (
            self._database.file is not None
            or not isinstance(error, ResultsError)
            or error.subject != self._database.name
        ):
            return error
        hint = "ask again in a moment" if isinstance(error, RecordUnreachable) else "its operator finds more in the log"
        return type(error)(error.attempting, _RECORD, "its server does not answer as it should", hint)

    def text(self, text: str) -> str:
        """A text in which folders of this machine have the names of what they are for."""
        for place, name in self._names:
            text = text.replace(place, name)
        return text
