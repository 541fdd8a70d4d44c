"""Finds kept runs whose programs differ from today's: another kernel, agent or module.

    a run, or an experiment --database--> identities --a run of each--> its plan --backend--> today's identity --> what differs

Runs of one identity share one answer, which needs the manifest of one of them and no trace.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.statuses import KEPT, LIVE
from longhaul.orchestrator.plan.run_identity import canonical
from longhaul.orchestrator.system.errors import LonghaulError

if TYPE_CHECKING:
    from longhaul.orchestrator.backends.base import Backend
    from longhaul.orchestrator.database.identities import Identities
    from longhaul.orchestrator.plan.run import Run
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import Settings

# An answer is valid this long: programs are built seldom, and lists are requested often.
_FRESH_S = 30.0
_MOST_CACHED = 100_000


def differing_programs(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The programs that differ between two identities, with the beginnings of their hashes."""
    return [
        f"{name}: {then[name][:12] if name in then else 'none'} then, {value[:12]} now"
        for name, value in now.items()
        if then.get(name) != value
    ]


def programs_of_other_traces(then: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The same without programs that are known to make the same traces."""
    earliest, earliest_now = canonical(then), canonical(now)
    return differing_programs(
        then, {name: value for name, value in now.items() if earliest.get(name) != earliest_now[name]}
    )


class OtherPrograms:
    """Compares the runs of one store with the programs of this machine."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._store = store
        # The id of a run is a hash of its identity too, and the runs of a finished experiment do not change.
        self._of_run: dict[str, str] = {}
        self._of_experiment: dict[str, dict[str, str]] = {}
        self._plans: dict[str, Run] = {}
        self._backends: dict[str, Backend] = {}
        self._answers: dict[str, list[str]] = {}
        self._until_s = 0.0

    def of_run(self, run_id: str) -> list[str]:
        """The programs of a kept run that are not today's; none if today's are missing here, or cannot read its plan."""
        return self.of_runs([run_id])[run_id]

    def of_runs(self, run_ids: Sequence[str]) -> dict[str, list[str]]:
        """The same for each; none for runs that are not kept."""
        self._forget()
        known = {run_id: text for run_id in run_ids if (text := self._of_run.get(run_id)) is not None}
        if new := [run_id for run_id in run_ids if run_id not in known]:
            found = self._identities().of_runs(new)
            self._of_run.update(found)
            known |= found
        return {run_id: self._answer(known[run_id], run_id) if run_id in known else [] for run_id in run_ids}

    def of_experiments(self, status: Mapping[str, str]) -> dict[str, list[str]]:
        """The same for all runs of each experiment together, by its status; none for one that is running."""
        self._forget()
        known = {key: one for key in status if (one := self._of_experiment.get(key)) is not None}
        if new := [key for key, its in status.items() if its not in LIVE and key not in known]:
            found = self._identities().of_experiments(new)
            # Runs of a cancelled experiment may still be made for others.
            self._of_experiment.update({key: one for key, one in found.items() if status[key] in KEPT})
            known |= found
        return {key: self._union(known.get(key, {})) for key in status}

    def _union(self, identities: Mapping[str, str]) -> list[str]:
        return list(dict.fromkeys(line for text, run_id in identities.items() for line in self._answer(text, run_id)))

    def _identities(self) -> Identities:
        from longhaul.orchestrator.database.identities import Identities

        return Identities(self._store.database)

    def _forget(self) -> None:
        if time.monotonic() >= self._until_s:
            self._backends, self._answers = {}, {}
            self._until_s = time.monotonic() + _FRESH_S
        for known in (self._of_run, self._of_experiment):
            if len(known) > _MOST_CACHED:
                known.clear()

    def _answer(self, identity: str, run_id: str) -> list[str]:
        answers = self._answers
        if identity not in answers:
            try:
                if identity not in self._plans:
                    self._plans[identity] = self._store.planned(run_id)
                answers[identity] = programs_of_other_traces(json.loads(identity), self._today(self._plans[identity]))
            except LonghaulError:
                answers[identity] = []
        return answers[identity]

    def _today(self, run: Run) -> dict[str, str]:
        """The programs that would make this run now. A user-supplied module belongs to the plan, and is not built for this."""
        backends = self._backends
        if run.backend not in backends:
            backends[run.backend] = open_backend(run.backend, self._settings)
        ours = tuple(module for module in run.modules if not module.source)
        return backends[run.backend].identity(replace(run, modules=ours))
