"""Where runs can be carried out from here, and what each place lacks, with the command that provides it.

A probe, the smallest experiment there is, is placed everywhere: what one run needs besides (another kernel, iperf3, a queueing
discipline of this host's kernel) is asked of its own backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.target import HOSTS, TARGETS, targets_of
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.settings import Settings


@dataclass(frozen=True, slots=True)
class Missing:
    """A piece that is not there, and what to do about it."""

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
    """Every place, for runs with this guest kernel."""
    probe = load_experiment("quick", [f'kernel="{kernel}"'] if kernel else [])
    for target in TARGETS:
        # Which hosts a run is on says nothing about what is missing here.
        planned = "sandbox" if target.where == HOSTS else target.backend
        several = len(targets_of(planned)) > 1
        where, clock = (target.where, target.clock) if several else (None, None)
        run = compile_plan(probe, backend=planned, where=where, clock=clock).runs[0]
        missing = open_backend(target.backend, settings).check(run)
        yield Place(**asdict(target), missing=tuple(Missing(*one) for one in missing))
