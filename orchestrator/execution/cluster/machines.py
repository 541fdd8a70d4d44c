"""Properties of a worker's machine that a run needs and that cannot be sent there: programs, rights, an otherwise idle machine.

A run's identity names programs of the machine (Mininet, iperf3; on a host its kernel). They cannot be copied, so a run goes
to a worker that has exactly these. A worker announces each combination that it has as a Dask resource, named by a hash.
"""

from __future__ import annotations

import hashlib
import json

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.target import HOSTS, TARGETS, targets_of
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.errors import BackendUnavailable
from longhaul.orchestrator.system.settings import Settings

SLOT = "sandbox"
ROOT = "root"
# Any number of runs may use the same programs, although Dask deducts from an announced amount.
_PLENTY = 1_000_000

_TOOLS = ("lh-flow", "iperf3")


def programs_of(backend: Backend, run: Run) -> str | None:
    """The resource for the machine's part of a run's identity; None without such a part."""
    needed = backend.programs(run)
    if not needed:
        return None
    return f"programs-{hashlib.sha256(json.dumps(needed, sort_keys=True).encode()).hexdigest()[:16]}"


def _probes() -> list[tuple[str, str | None]]:
    """Each backend of this machine, with its place if it has several: its needs are the same in virtual and real time."""
    here = [target for target in TARGETS if target.where != HOSTS]
    probed = ((one.backend, one.where if len(targets_of(one.backend)) > 1 else None) for one in here)
    return list(dict.fromkeys(probed))


def resources_of(settings: Settings, slots: int) -> dict[str, float]:
    """The resources that a worker on this machine announces."""
    found: dict[str, float] = {SLOT: slots}
    for name, where in _probes():
        for tool in _TOOLS:
            experiment = load_experiment("quick", [f"flows.app.tool={tool}"])
            run = compile_plan(experiment, backend=name, where=where).runs[0]
            try:
                programs = programs_of(open_backend(name, settings), run)
            except BackendUnavailable:
                continue
            if programs is not None:
                found[programs] = _PLENTY
            if where == "host":
                found[ROOT] = 1
    return found
