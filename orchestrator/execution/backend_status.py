"""Where runs can be carried out from here, and what each place lacks, with the command that provides it.

A probe, the smallest experiment there is, is placed everywhere: what one run needs besides (another kernel, iperf3, a queueing
discipline of this host's kernel) is asked of its own backend.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.settings import Settings

PLACES = (
    ("sandbox", "guest", "virtual", "a guest in virtual time: deterministic, faster than the clock, without rights"),
    ("mininet", "guest", "virtual", "real Mininet in a guest, in virtual time"),
    ("mininet", "guest", "real", "real Mininet in a guest, by the real clock"),
    ("mininet", "host", "real", "real Mininet on this machine's own kernel, by the real clock"),
    ("hosts", "hosts", "real", "real hosts and the real path between them; which, the operator's policy says"),
)


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
    about: str
    missing: tuple[Missing, ...]


def places(settings: Settings, kernel: str | None = None) -> Iterator[Place]:
    """Every place, for runs with this guest kernel."""
    probe = load_experiment("quick", [f'kernel="{kernel}"'] if kernel else [])
    for name, where, clock, about in PLACES:
        # The others take no word about either. Which hosts a run is on says nothing about what is missing here.
        planned, told = (name, (where, clock)) if name == "mininet" else ("sandbox", (None, None))
        run = compile_plan(probe, backend=planned, where=told[0], clock=told[1]).runs[0]
        missing = open_backend(name, settings).check(run)
        yield Place(name, where, clock, about, tuple(Missing(*one) for one in missing))
