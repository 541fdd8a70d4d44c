"""The backends that run experiments, a module each, loaded on first use; orchestrator/plan/target.py lists their places.

So a backend's imports (ssh, Mininet's programs) cost no time where another backend is used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from longhaul.orchestrator.plan.target import targets_of

if TYPE_CHECKING:
    from longhaul.orchestrator.backends.base import Backend
    from longhaul.orchestrator.system.settings import Settings


def backend_class(name: str) -> type[Backend]:
    """The backend of that name, or an error with the known names."""
    targets_of(name)
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
    raise AssertionError(f"orchestrator/plan/target.py has rows of the backend {name}, which has no class here")


def open_backend(name: str, settings: Settings) -> Backend:
    """The backend of that name, as this machine is set up."""
    return backend_class(name)(settings)
