"""The sink of a machine that runs for another one: a finished run in its kept form, in memory, for the other machine to keep.

It has no database and keeps nothing: a finished run is `files`, and the log of a guest that died is `last_log`.
"""

from __future__ import annotations

import socket
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.orchestrator.results.packing import EndedRun, load_packing, pack_run
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.settings import Settings

if TYPE_CHECKING:
    from longhaul.orchestrator.database.leases import Leases


class Outbox:
    """A RunSink (run_sink.py) for one run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.home = settings.home
        self.files: dict[str, bytes] = {}
        self.last_log: bytes | None = None

    @property
    def leases(self) -> Leases:
        """BackendError: the leases of hosts are in the database, which this machine does not have."""
        what = "a machine without the database cannot find out which hosts are free"
        raise BackendError("taking hosts on", socket.gethostname(), what, "run it on the machine that has the database")

    @staticmethod
    def make_ready() -> None:
        """Load the libraries that packing needs."""
        load_packing()

    def keep(self, ended: EndedRun) -> None:
        """Pack a finished run, and store its files in memory."""
        pack_run(ended)
        found = (file for file in ended.directory.rglob("*") if file.is_file())
        self.files = {file.relative_to(ended.directory).as_posix(): file.read_bytes() for file in found}

    def keep_log(self, directory: Path, run_id: str) -> str:
        """Store the guest's log in memory; its final place is unknown here."""
        try:
            self.last_log = (directory / "log.txt").read_bytes()
        except OSError:
            self.last_log = None
        return ""

    def count_death(self) -> None:
        """Nothing: the machine that receives the log counts it."""
