"""Where a run happens. The one list of backends; each is a module of this folder."""

from __future__ import annotations

from orchestrator.backends.base import Backend
from orchestrator.backends.hosts import HostsBackend
from orchestrator.backends.mininet import MininetBackend
from orchestrator.backends.sandbox import Sandbox
from orchestrator.errors import PlanError
from orchestrator.settings import Settings

BACKENDS: dict[str, type[Sandbox | MininetBackend | HostsBackend]] = {
    "sandbox": Sandbox,
    "mininet": MininetBackend,
    "hosts": HostsBackend,
}


def open_backend(name: str, settings: Settings) -> Backend:
    """The backend of that name, or an error with the known names."""
    if name not in BACKENDS:
        raise PlanError("choosing the backend", name, "no such backend", f"known: {', '.join(sorted(BACKENDS))}")
    return BACKENDS[name](settings)
