"""Lists the places where runs can happen from here, and what each lacks, with the command that provides it.

A probe, the smallest experiment, is checked for every place: the further needs of a run (another kernel, iperf3, a queueing
discipline of this host's kernel) are checked by its own backend.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.target import HOSTS, TARGETS, targets_of
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings


@dataclass(frozen=True, slots=True)
class Missing:
    """A missing piece, and the command that provides it."""

    piece: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Place:
    """A backend with its place and clock; nothing missing means that runs can go there."""

    backend: str
    where: str
    clock: str
    name: str
    about: str
    missing: tuple[Missing, ...]


def places(settings: Settings, kernel: str | None = None) -> Iterator[Place]:
    """Every place where runs with this guest kernel can happen."""
    probe = load_experiment("quick", [f"kernel={json.dumps(kernel)}"] if kernel else [])
    for target in TARGETS:
        # The hosts of a run do not affect what is missing here.
        planned = "sandbox" if target.where == HOSTS else target.backend
        several = len(targets_of(planned)) > 1
        where, clock = (target.where, target.clock) if several else (None, None)
        run = compile_plan(probe, backend=planned, where=where, clock=clock).runs[0]
        missing = open_backend(target.backend, settings).check(run)
        yield Place(**asdict(target), missing=tuple(Missing(*one) for one in missing))
