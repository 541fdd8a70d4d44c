"""A policer of a run, as run.json has it."""

from __future__ import annotations

from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Policer:
    """A policer whose decisions the trace has, by the name of its link; its rate and burst are options of its device's qdisc."""

    id: int
    name: str
    node: str
    dev: str
