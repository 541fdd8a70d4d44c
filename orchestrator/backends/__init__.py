"""Where a run happens. The one list of backends; each is a module of this folder, loaded when it is asked for.

What one needs to load, ssh's conversation or Mininet's programs, is no delay for those who want another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from longhaul.orchestrator.system.errors import PlanError

if TYPE_CHECKING:
    from longhaul.orchestrator.backends.base import Backend
    from longhaul.orchestrator.backends.hosts.backend import HostsBackend
    from longhaul.orchestrator.backends.mininet import MininetBackend
    from longhaul.orchestrator.backends.sandbox import Sandbox
    from longhaul.orchestrator.system.settings import Settings

BACKENDS = ("sandbox", "mininet", "hosts")


def backend_class(name: str) -> type[Sandbox | MininetBackend | HostsBackend]:
    """The backend of that name, or an error with the known names."""
    match name:
        case "sandbox":
            from longhaul.orchestrator.backends.sandbox import Sandbox

            return Sandbox
        case "mininet":
            from longhaul.orchestrator.backends.mininet import MininetBackend

            return MininetBackend
        case "hosts":
            from longhaul.orchestrator.backends.hosts.backend import HostsBackend

            return HostsBackend
    raise PlanError("choosing the backend", name, "no such backend", f"known: {', '.join(sorted(BACKENDS))}")


def open_backend(name: str, settings: Settings) -> Backend:
    """The backend of that name, as this machine is set up."""
    return backend_class(name)(settings)
