"""Where a run happens, in virtual or real time, and what follows for its plan.

`TARGETS` is the one table of places; a backend with several has options to choose one. The plan is made for the sandbox; `set_in` adds what real time or a shared kernel needs, and refuses what they do not support.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from longhaul.orchestrator.plan.queues.policers import refuse_in_real_time
from longhaul.orchestrator.plan.run import (
    DeviceChange,
    End,
    ModuleChange,
    Option,
    Qdisc,
    Run,
    ScheduledChange,
    TraceOptions,
    Wire,
)
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

HOSTS = "hosts"


@dataclass(frozen=True, slots=True)
class Target:
    """One place of a backend (guest, host or hosts) and one clock (virtual or real); `name` is its label in menus."""

    backend: str
    where: str
    clock: str
    name: str
    about: str


# A backend with several uses its last place by default, with the first clock of that place.
TARGETS = (
    Target(
        "sandbox",
        "guest",
        "virtual",
        "Sandbox, virtual time",
        "a guest in virtual time: deterministic, faster than real time, without privileges",
    ),
    # The guest's own kernel; needs no privileges.
    Target(
        "mininet", "guest", "virtual", "Mininet in a guest, virtual time", "real Mininet in a guest, in virtual time"
    ),
    Target("mininet", "guest", "real", "Mininet in a guest, real time", "real Mininet in a guest, in real time"),
    # This machine's kernel, which the run shares.
    Target(
        "mininet",
        "host",
        "real",
        "Mininet on the host, real time",
        "real Mininet on this machine's kernel, in real time",
    ),
    # Kernels and a path that others use too.
    Target(
        HOSTS,
        HOSTS,
        "real",
        "Real hosts, real time",
        "real hosts that the operator's host policy lists, and the real path between them",
    ),
)
BACKENDS = tuple(dict.fromkeys(target.backend for target in TARGETS))

# Python and Mininet in a guest, and a shell per node.
_MININET_MB = 192
_NODE_MB = 8

# In real time TCP is sampled: this often, if the experiment asks for every ACK.
_SAMPLE_US = 10_000
# A rate limiter that is woken late by less than this loses no rate. The price: a train of this length passes at once.
_LATENESS_US = 4_000


@dataclass(frozen=True, slots=True)
class Venue:
    """The choice of a backend, a place (guest, host, hosts) and a clock (virtual, real)."""

    backend: str = "sandbox"
    where: str = "guest"
    clock: str = "virtual"
    hosts: tuple[str, ...] = ()


def choose_venue(backend: str, where: str | None = None, clock: str | None = None, hosts: Sequence[str] = ()) -> Venue:
    """The venue of these options; PlanError if they contradict each other."""
    if backend == HOSTS:
        if not hosts:
            hint = "give --hosts FROM,TO; `longhaul hosts list` prints their names"
            raise PlanError("choosing the hosts", "", "no host is named", hint)
        _refuse_options(backend, where, clock, "a run on hosts is on them, in real time")
        return Venue(backend, HOSTS, "real", tuple(hosts))
    if hosts:
        what = f"--hosts {','.join(hosts)} is for the hosts backend"
        raise PlanError("choosing the backend", backend, what, "give --backend hosts")
    offered = targets_of(backend)
    if len(offered) == 1:
        (only,) = offered
        place, time = _IN[only.where], _BY[only.clock]
        _refuse_options(backend, where, clock, f"a {backend} run is {place} and {time}")
        return Venue(backend, only.where, only.clock)
    where = where or offered[-1].where
    places = sorted({target.where for target in offered})
    if where not in places:
        raise PlanError("choosing the place", where, "no such place", f"known: {', '.join(places)}")
    clock = clock or next(target.clock for target in offered if target.where == where)
    clocks = sorted({target.clock for target in offered})
    if clock not in clocks:
        raise PlanError("choosing the clock", clock, "no such clock", f"known: {', '.join(clocks)}")
    if (where, clock) not in [(target.where, target.clock) for target in offered]:
        raise PlanError(
            "choosing the clock",
            clock,
            "the time of this machine cannot be virtual",
            "use --in guest, or --clock real",
        )
    return Venue(backend, where, clock)


_IN = {"guest": "in a guest", "host": "on this host"}
_BY = {"virtual": "in virtual time", "real": "in real time"}


def targets_of(backend: str) -> list[Target]:
    """The rows of a backend; PlanError with the known names if there is none."""
    found = [target for target in TARGETS if target.backend == backend]
    if not found:
        known = f"known: {', '.join(sorted(BACKENDS))}"
        raise PlanError("choosing the backend", backend, "no such backend", known)
    return found


def _refuse_options(backend: str, where: str | None, clock: str | None, why: str) -> None:
    several = " or ".join(name for name in BACKENDS if len(targets_of(name)) > 1)
    for option, word in (("--in", where), ("--clock", clock)):
        if word is not None:
            what = f"{option} {word} is for the {several} backend"
            raise PlanError("choosing the backend", backend, what, f"leave {option} out: {why}")


def set_in(run: Run, venue: Venue) -> Run:
    """The run as it happens there."""
    run = replace(run, backend=venue.backend, where=venue.where, clock=venue.clock)
    if run.backend == "mininet" and run.where == "guest":
        run = replace(run, memory_mb=run.memory_mb + _MININET_MB + _NODE_MB * len(run.nodes))
    if run.where == HOSTS and run.recordings:
        what = "a middle box emulates links that stay the same, and replays no recording"
        raise PlanError("placing on hosts", "path.recording", what, "use the sandbox or Mininet")
    if run.where == "host":
        run = _on_a_shared_kernel(run)
    if run.clock == "real":
        refuse_in_real_time(run)
        return _in_real_time(run)
    return run


def _on_a_shared_kernel(run: Run) -> Run:
    for module in run.modules:
        if module.source:
            raise PlanError(
                "placing on this host", module.replaces or module.name, "a user-supplied module is loaded into guests only", "use --in guest"
            )  # fmt: skip
        if module.params:
            raise PlanError(
                "placing on this host",
                module.name,
                "its parameters belong to the whole machine, and so to other connections too",
                "use --in guest, or set them yourself and leave them out of the experiment",
            )
    if any(isinstance(change, ModuleChange) for change in run.schedule):
        raise PlanError(
            "placing on this host",
            "schedule",
            "it changes a module, which belongs to the whole machine",
            "use --in guest",
        )
    # Settings that a kernel has once are left as they are.
    return replace(run, sysctls=())


def _in_real_time(run: Run) -> Run:
    wires = tuple(Wire((_patient_end(wire.ends[0]), _patient_end(wire.ends[1]))) for wire in run.wires)
    return replace(
        run,
        wires=wires,
        schedule=tuple(_patient_change(change) for change in run.schedule),
        # Without the probe, only the kernel's own counts tell two queues apart.
        trace=TraceOptions(run.trace.ack_us or _SAMPLE_US, run.trace.tick_us),
    )


def _patient_end(end: End) -> End:
    return replace(end, qdiscs=_patient(end.qdiscs))


def _patient_change(change: ScheduledChange) -> ScheduledChange:
    return replace(change, qdiscs=_patient(change.qdiscs)) if isinstance(change, DeviceChange) else change


def _patient(qdiscs: tuple[Qdisc, ...]) -> tuple[Qdisc, ...]:
    """Rate limiters with credit for the delay of a real timer."""
    return tuple(
        replace(qdisc, options={**qdisc.options, **_late_buckets(qdisc)}) if qdisc.kind == "tbf" else qdisc
        for qdisc in qdiscs
    )


def _late_buckets(limiter: Qdisc) -> dict[str, Option]:
    """The bucket of the rate, and that of its peak, with what passes in such a delay."""
    pairs = [("burst_bytes", "rate_bps"), ("peak_burst_bytes", "peak_bps")]
    found: dict[str, Option] = {}
    for burst, rate in pairs[: 1 + ("peak_bps" in limiter.options)]:
        least, rate_bps = limiter.options[burst], limiter.options[rate]
        assert isinstance(least, int) and isinstance(rate_bps, int)
        found[burst] = least + rate_bps * _LATENESS_US // 8_000_000
    return found
