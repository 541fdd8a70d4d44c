"""A sender's window, read from its trace: values at a time, growth, reductions, and the state records of its module."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.trace.records import Records, Trace


@dataclass(frozen=True)
class Reduction:
    """The time of a reduction, the window before it, and the threshold that the congestion control set."""

    t_s: float
    before: int
    after: int

    @property
    def kept(self) -> float:
        return self.after / self.before


@dataclass(frozen=True)
class ModuleState:
    """A STATE record of a module: the four words of VEGASINFO."""

    enabled: int
    rttcnt: int
    rtt: int
    minrtt: int


def seconds(records: Records) -> NDArray[np.float64]:
    return records["t_ns"].astype(np.float64) / 1e9


def acks_of(trace: Trace, flow: int = 0) -> Records:
    acks: Records = trace.acks[trace.acks["id"] == flow]
    return acks


def at(trace: Trace, t_s: float, field: str = "cwnd", flow: int = 0) -> int:
    """A field of a sender at the first ACK from that time on."""
    acks = acks_of(trace, flow)
    return int(acks[field][np.searchsorted(seconds(acks), t_s)])


def between(trace: Trace, begin_s: float, end_s: float, field: str = "cwnd", flow: int = 0) -> NDArray[np.int64]:
    """Every value of a field of a sender between two times."""
    acks = acks_of(trace, flow)
    begin, end = np.searchsorted(seconds(acks), (begin_s, end_s))
    values: NDArray[np.int64] = acks[field][begin:end].astype(np.int64)
    return values


def growth(trace: Trace, begin_s: float, end_s: float) -> float:
    """Segments gained for each window that was acknowledged: the increase "per round trip" of a control law."""
    gained = at(trace, end_s) - at(trace, begin_s)
    acknowledged = at(trace, end_s, "delivered") - at(trace, begin_s, "delivered")
    return float(gained * between(trace, begin_s, end_s).mean() / acknowledged)


def reductions(trace: Trace, flow: int = 0) -> list[Reduction]:
    """Every beginning of a recovery, a reduction for marks or a timeout, in order."""
    acks = acks_of(trace, flow)
    reduced = acks["state"] >= 2
    times = seconds(acks)
    begins = np.flatnonzero(~reduced[:-1] & reduced[1:])
    return [Reduction(float(times[i]), int(acks["cwnd"][i]), int(acks["ssthresh"][i + 1])) for i in begins]


def module_state(trace: Trace, t_s: float) -> ModuleState:
    """The last state record of the module before that time."""
    states = trace.states[trace.states["id"] == 0]
    place = int(np.searchsorted(seconds(states), t_s)) - 1
    return ModuleState(*(int(states[f"word{word}"][place]) for word in range(4)))
