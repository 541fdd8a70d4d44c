"""The packets of a kept run: those that it has, or those of the same run once more, which must have the same trace."""

from __future__ import annotations

from pathlib import Path

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.execution.runner import Runner
from longhaul.orchestrator.plan.captures import add_capture
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.packets import kept_packets
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.model import Capture
from longhaul.orchestrator.system.errors import BackendUnavailable


def packets_of(store: Store, run: str, asked: Capture | None, progress: Progress = lambda ns: None) -> Path:
    """The file of a kept run's packets, captured as asked, or as they are if nothing is asked; at its bottleneck if there are none."""
    derived = store.derived(run)
    if asked is None and (known := kept_packets(derived)) is not None:
        return known
    planned = add_capture(store.planned(run), asked or Capture(at=["bottleneck"]))
    if (known := kept_packets(derived, planned.capture)) is None:
        _capture(store, run, planned, progress)
        known = kept_packets(derived, planned.capture)
    assert known is not None, "a run that captures leaves packets"
    return known


def _capture(store: Store, run: str, planned: Run, progress: Progress) -> None:
    if (fault := store.fault(run)) is not None:
        raise fault
    backend = open_backend(planned.backend, store.settings)
    check_programs(planned, run, backend)
    with Staging(store.home) as staging:
        Runner(backend, store).run(planned, store.manifest(run)["spec"], staging, progress)


def check_programs(planned: Run, run: str, backend: Backend) -> None:
    """BackendUnavailable if today's programs are not those of the kept run with this id, and may give it other packets."""
    if run_id(planned, backend.identity(planned)) != run:
        what = f"the programs that made run {run} are not today's"
        hint = "run its experiment again, or use the version that made it (`longhaul show RUN` names the programs)"
        raise BackendUnavailable(planned.backend, [], f"{what}; {hint}")
