"""The lab that a service opens at its start: its database, and the objects that read and write it."""

from __future__ import annotations

import threading
from dataclasses import field, replace
from functools import cached_property

from longhaul.orchestrator.database.access.shares import Shares
from longhaul.orchestrator.database.access.subscriptions import Subscriptions
from longhaul.orchestrator.database.access.tokens import Access
from longhaul.orchestrator.database.annotations import Annotations
from longhaul.orchestrator.database.counters import Counts
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.leases import Leases
from longhaul.orchestrator.database.work import Work
from longhaul.orchestrator.execution.other_programs import OtherPrograms
from longhaul.orchestrator.execution.prediction_status import Predictions
from longhaul.orchestrator.execution.reproduction_status import Standings
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings


@dataclass
class Lab:
    """One lab: its database and the objects that use it."""

    settings: Settings
    # A caller over HTTP should learn soon that the database is locked.
    patience_s: float = 10.0
    drawing: threading.Lock = field(default_factory=threading.Lock)

    @cached_property
    def at_once(self) -> Lab:
        """The same lab, with a database that does not wait for locks."""
        return replace(self, patience_s=0.0)

    @cached_property
    def store(self) -> Store:
        return Store(self.settings, self.patience_s)

    @cached_property
    def other_programs(self) -> OtherPrograms:
        """Finds runs that were made by other programs than this machine's."""
        return OtherPrograms(self.settings, self.store)

    def close(self) -> None:
        """Close the database."""
        for lab in (self, self.at_once):
            lab.store.database.close()

    @cached_property
    def experiments(self) -> Experiments:
        return Experiments(self.store.database)

    @cached_property
    def annotations(self) -> Annotations:
        return Annotations(self.store.database)

    @cached_property
    def events(self) -> EventLog:
        return EventLog(self.store.database)

    @cached_property
    def access(self) -> Access:
        return Access(self.store.database)

    @cached_property
    def shares(self) -> Shares:
        return Shares(self.store.database)

    @cached_property
    def subscriptions(self) -> Subscriptions:
        return Subscriptions(self.store.database)

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
    def predictions(self) -> Predictions:
        return Predictions(self.settings, self.store, self.desk)

    @cached_property
    def standings(self) -> Standings:
        return Standings(self.settings, self.store, self.desk)
