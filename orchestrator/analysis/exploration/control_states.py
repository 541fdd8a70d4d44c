"""The state of a flow's congestion control over time: TCP's own, BBR's phase, CUBIC's origin point.

    control_states(run, trace.columns, "app") -> ControlStates

TCP's state is recorded with each ACK. BBR reports its gains (`ss -i`), and each phase has gains of its own (tcp_bbr.c); the trace has them at an ACK, once a
tick if they changed. CUBIC reports nothing. Its origin point, the window to which it grows back, follows from the windows at its reductions by the rules
of tcp_cubic.c, if the trace has every ACK; a reduction counts only if it explains the slow start threshold that TCP recorded after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.raw_series import NO_SSTHRESH, Span
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.analysis.timelines import named_in
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVER, STATE_RECOVERING, Columns, ColumnSource

MOST = 600
TCP_STATES = ("open", "disorder", "cwr", "recovery", "loss")
BBR_PHASES = ("startup", "drain", "probe_bw", "probe_rtt", "other")
_BBR_INFO = 16
# In 1/256, as (pacing gain, window gain). Before its first ACK, BBR has no gains.
_STARTUP, _DRAIN, _PROBE_RTT = ((0, 0), (739, 739)), ((88, 739),), ((256, 256),)
_PROBE_BW_WINDOW, _PROBE_BW_PACING = 512, (192, 256, 320)
_LOSS = 4
# tcp_cubic.c: the share of the window that a reduction leaves, in 1/1024.
_SCALE, _BETA = 1024, 717


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the run in one state."""

    begin_s: float
    end_s: float
    state: str


@dataclass(frozen=True, slots=True)
class States:
    """States one after the other, and the time in each. Of more than `MOST` stretches, each part of the time shows its longest state."""

    name: str
    stretches: tuple[Stretch, ...]
    seconds: Mapping[str, float]
    changes: int
    thinned: bool


@dataclass(frozen=True, slots=True)
class ControlStates:
    """`own` is BBR's phase. `origin` are times and packets: CUBIC's origin point from each time on, NaN where it is not known."""

    flow: str
    cc: str | None
    tcp: States
    own: States | None
    origin: tuple[Floats, Floats] | None
    about: str


def control_states(
    run: Run, source: ColumnSource, flow: str, *, begin_s: float = 0.0, end_s: float | None = None
) -> ControlStates:
    """The states of a part of a run; NotFound."""
    sender = named_in({one.name: one for one in run.flows}, flow, "reading the states of flow")
    end_s = min(run.duration_us / 1e6, np.inf if end_s is None else end_s)
    span = Span(max(0.0, min(begin_s, end_s)), end_s, 1)
    acks = source("ack", ["state", "cwnd", "ssthresh"], sender.id, EVER)
    tcp = _states("TCP", TCP_STATES, acks["t_ns"] / 1e9, np.minimum(acks["state"], _LOSS), span)
    own, origin, about = None, None, f"{sender.cc or sender.kind} reports no state of its own; TCP's is shown"
    reports = source("state", ["layout", "word3", "word4"], sender.id, EVER)
    of_bbr = reports["layout"] == _BBR_INFO
    if of_bbr.any():
        numbers = _phases(reports["word3"][of_bbr], reports["word4"][of_bbr])
        own = _states("BBR", BBR_PHASES, reports["t_ns"][of_bbr] / 1e9, numbers, span)
        about = f"BBR's phase by the gains that it reported, at most once in {run.trace.tick_us / 1000:g} ms"
    elif sender.cc == "cubic":
        why = _not_derivable(run, sender)
        about = f"CUBIC's origin point is not known: {why}" if why else _CUBIC
        origin = None if why else _within(*_origin(acks, **_parameters(run)), span)
    return ControlStates(flow, sender.cc, tcp, own, origin, about)


_CUBIC = (
    "CUBIC's origin point, derived from the recorded windows by the rules of tcp_cubic.c; "
    "where a reduction does not explain the recorded ssthresh, it is left out"
)


def _phases(pacing: NDArray[np.integer], window: NDArray[np.integer]) -> NDArray[np.int64]:
    found = np.full(len(pacing), BBR_PHASES.index("other"), dtype=np.int64)
    for name, gains in (("startup", _STARTUP), ("drain", _DRAIN), ("probe_rtt", _PROBE_RTT)):
        for of_pacing, of_window in gains:
            found[(pacing == of_pacing) & (window == of_window)] = BBR_PHASES.index(name)
    found[(window == _PROBE_BW_WINDOW) & np.isin(pacing, _PROBE_BW_PACING)] = BBR_PHASES.index("probe_bw")
    return found


def _states(name: str, names: Sequence[str], t_s: Floats, numbers: NDArray[np.integer], span: Span) -> States:
    """Of states by their numbers, each from its time until the next one; the first and the last reach the ends of what is known."""
    changed = np.flatnonzero(np.append(len(numbers) > 0, np.diff(numbers.astype(np.int64)) != 0)[: len(numbers)])
    begins = t_s[changed]
    begins, ends = (np.clip(edge, span.begin_s, span.end_s) for edge in (begins, np.append(begins[1:], span.end_s)))
    states = numbers[changed].astype(np.int64)
    there = ends > begins
    begins, ends, states = begins[there], ends[there], states[there]
    lengths = np.bincount(states, weights=ends - begins, minlength=len(names))
    seconds = {name: float(length) for name, length in zip(names, lengths, strict=True) if length > 0}
    thinned = len(states) > MOST
    changes = max(0, len(states) - 1)
    if thinned:
        begins, ends, states = _longest(begins, ends, states, len(names))
    stretches = tuple(
        Stretch(float(begin), float(end), names[state])
        for begin, end, state in zip(begins, ends, states.tolist(), strict=True)
    )
    return States(name, stretches, seconds, changes, thinned)


def _longest(
    begins: Floats, ends: Floats, states: NDArray[np.int64], count: int
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """For each of MOST parts of the time the state that lasts longest in it; equal neighbours are one."""
    edges = np.linspace(begins[0], ends[-1], MOST + 1)
    times = np.append(begins, ends[-1])
    lasting = [
        np.diff(np.interp(edges, times, np.append(0, np.cumsum(np.where(states == state, ends - begins, 0)))))
        for state in range(count)
    ]
    longest = np.argmax(lasting, axis=0)
    first = np.flatnonzero(np.append(True, np.diff(longest) != 0))
    return edges[first], np.append(edges[first[1:]], edges[-1]), longest[first]


def _not_derivable(run: Run, flow: Flow) -> str:
    """Why the rules of the kernel's CUBIC do not give its origin point; empty if they do."""
    if any(module.replaces == "cubic" for module in run.modules):
        return "another module has taken its place"
    if run.trace.ack_us or run.clock != "virtual":
        return "the trace does not have every ACK"
    if flow.kind != "tcp":
        return "the flow has several connections"
    if any(change.cc for change in run.changes_of(flow)):
        return "the schedule changes the congestion control"
    return ""


def _parameters(run: Run) -> dict[str, int]:
    params = next((dict(module.params) for module in run.modules if module.name == "tcp_cubic"), {})
    return {"beta": int(params.get("beta", _BETA)), "fast": int(params.get("fast_convergence", 1))}


def _origin(acks: Columns, beta: int, fast: int) -> tuple[Floats, Floats]:
    """Times and origin points: one begins at the first ACK of each epoch of growth, and ends with the next reduction."""
    found = list(_epochs(acks, beta, fast))
    return np.array([t_s for t_s, _ in found]), np.array([packets for _, packets in found])


def _epochs(acks: Columns, beta: int, fast: int) -> Iterator[tuple[float, float]]:
    state, window, threshold = (acks[name].astype(np.int64) for name in ("state", "cwnd", "ssthresh"))
    t_s = acks["t_ns"] / 1e9
    reducing = state >= STATE_RECOVERING
    growing = ~reducing & (window >= threshold) & (threshold < NO_SSTHRESH)
    # The first ACK after each reduction: TCP has left open, or has left a recovery and begun the next one with one ACK.
    again = reducing[:-1] & (threshold[1:] != threshold[:-1])
    reductions = (np.flatnonzero(reducing[1:] & (~reducing[:-1] | again)) + 1).tolist()
    # The window that was the last maximum; None if a reduction could not be explained.
    last: float | None = 0.0
    for begin, end in pairwise([0, *reductions, len(state)]):
        if begin:
            yield float(t_s[begin - 1]), np.nan
            last = _last_maximum(int(window[begin - 1]), int(threshold[begin]), last, beta, fast)
        # A timeout resets CUBIC, also one during a recovery.
        if (state[begin:end] == _LOSS).any():
            last = 0.0
        if growing[begin:end].any():
            first = begin + int(np.argmax(growing[begin:end]))
            yield float(t_s[first]), np.nan if last is None else max(last, float(window[first]))


def _last_maximum(window: int, threshold: int, last: float | None, beta: int, fast: int) -> float | None:
    """The window that CUBIC remembers at a reduction; None if that window does not give the recorded threshold."""
    if max(window * beta // _SCALE, 2) != threshold:
        return None
    if last is None or not fast or window >= last:
        return None if last is None and fast else float(window)
    return float(window * (_SCALE + beta) // (2 * _SCALE))


def _within(t_s: Floats, packets: Floats, span: Span) -> tuple[Floats, Floats]:
    """Those of a part of the run, with the one that holds at its beginning."""
    first = max(0, int(np.searchsorted(t_s, span.begin_s, side="right")) - 1)
    end = int(np.searchsorted(t_s, span.end_s, side="right"))
    return t_s[first:end], packets[first:end]
