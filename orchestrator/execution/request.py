"""A caller's request to a lab as plain data: sent to a service, and taken by its desk (submission.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

PRIORITIES = (-10, 10)


@dataclass(frozen=True, slots=True)
class Request:
    """Fields of an experiment, or the name of a shipped one, with changes."""

    spec: Mapping[str, Any] | None = None
    shipped: str | None = None
    changes: Sequence[str] = ()
    backend: str = "sandbox"
    where: str | None = None
    clock: str | None = None
    hosts: Sequence[str] = ()
    seed: int | None = None
    repeats: int | None = None
    priority: int = 0
    title: str = ""
    tags: Sequence[str] = ()
    comment: str = ""
