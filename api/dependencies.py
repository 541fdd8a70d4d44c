"""What endpoints ask for: the parts of the lab that this service opened when it started.

The functions are coroutines although they never wait: FastAPI sends every other one to a thread, which takes longer.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

from fastapi import Depends, Request

from api.following import Hub
from orchestrator.other_programs import OtherPrograms
from orchestrator.results.access import Access
from orchestrator.results.counts import Counts
from orchestrator.results.events import EventLog
from orchestrator.results.experiments import Experiments
from orchestrator.results.leases import Leases
from orchestrator.results.store import Store
from orchestrator.results.work import Work
from orchestrator.settings import Settings
from orchestrator.standing import Standings
from orchestrator.submission import Desk


@dataclass
class Lab:
    """One lab: its record, and the ways in."""

    settings: Settings
    # Whoever asks over HTTP would rather hear soon that the record is locked.
    patience_s: float = 10.0
    drawing: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def at_once(self) -> Lab:
        """The same lab, whose record answers now or not at all."""
        return replace(self, patience_s=0.0)

    @cached_property
    def store(self) -> Store:
        return Store(self.settings, self.patience_s)

    @cached_property
    def other_programs(self) -> OtherPrograms:
        """Which runs the programs of this machine did not make."""
        return OtherPrograms(self.settings, self.store)

    def close(self) -> None:
        """Let go of the record."""
        for lab in (self, self.at_once):
            lab.store.database.close()

    @cached_property
    def experiments(self) -> Experiments:
        return Experiments(self.store.database)

    @cached_property
    def events(self) -> EventLog:
        return EventLog(self.store.database)

    @cached_property
    def access(self) -> Access:
        return Access(self.store.database)

    @cached_property
    def leases(self) -> Leases:
        return Leases(self.store.database)

    @cached_property
    def counts(self) -> Counts:
        return Counts(self.store.database)

    @cached_property
    def work(self) -> Work:
        return Work(self.store.database)

    @cached_property
    def desk(self) -> Desk:
        return Desk(self.settings, self.store)

    @cached_property
    def standings(self) -> Standings:
        return Standings(self.settings, self.store, self.desk)


async def _lab(request: Request) -> Lab:
    lab: Lab = request.app.state.lab
    return lab


async def _hub(request: Request) -> Hub:
    hub: Hub = request.app.state.hub
    return hub


TheLab = Annotated[Lab, Depends(_lab)]
TheHub = Annotated[Hub, Depends(_hub)]
