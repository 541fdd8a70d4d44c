"""Names the folders of this machine by their settings, in texts that leave it: no caller and no receiver needs to know where they are."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from longhaul.orchestrator.system.installation import FILES
from longhaul.orchestrator.system.settings import Settings


class FolderNames:
    """The names of the folders that the settings name."""

    def __init__(self, settings: Settings) -> None:
        # If two settings name the same folder, the later one is used.
        # Unchanged if the user has no home.
        home = Path(os.path.expanduser("~"))  # noqa: PTH111
        named = {
            **({home: "HOME"} if home.is_absolute() else {}),
            Path(tempfile.gettempdir()): "TMPDIR",
            Path(sys.prefix): "Python",
            FILES: "Longhaul",
            Path(__file__).resolve().parents[2]: "Longhaul",
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

    def in_text(self, text: str) -> str:
        """A text with folders of this machine replaced by the names of their settings."""
        for place, name in self._names:
            text = text.replace(place, name)
        return text
