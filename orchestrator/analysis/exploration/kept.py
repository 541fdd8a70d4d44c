"""What the other modules of this folder read, of runs that are kept: by their ids, from the columns of their traces."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any

from longhaul.orchestrator.analysis.exploration.bands import Band, band
from longhaul.orchestrator.analysis.exploration.control_states import ControlStates, control_states
from longhaul.orchestrator.analysis.exploration.occupancy import Occupancy, occupancy
from longhaul.orchestrator.analysis.exploration.phase import Phase, phase
from longhaul.orchestrator.analysis.exploration.sequence import FlowSequence, PacketSequence, packet_sequence, sequence
from longhaul.orchestrator.analysis.kept_series import last_s, run_of
from longhaul.orchestrator.results.packets import kept_packets
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.trace.segments import Segments, read_segments


def kept_phase(store: Store, run_id: str, flow: str, *, end_s: float | None = None, **asked: Any) -> Phase:
    """Pairs of values of a flow; NotFound."""
    with store.shared_columns(run_id) as source:
        return phase(run_of(store, run_id), source, flow, end_s=last_s(store, run_id, end_s), **asked)


def kept_occupancy(store: Store, run_id: str, *, end_s: float | None = None, **asked: Any) -> Occupancy:
    """How full the queues are; NotFound."""
    with store.shared_columns(run_id) as source:
        return occupancy(run_of(store, run_id), source, end_s=last_s(store, run_id, end_s), **asked)


def kept_states(store: Store, run_id: str, flow: str, *, end_s: float | None = None, **asked: Any) -> ControlStates:
    """The states of a flow's congestion control; NotFound."""
    with store.shared_columns(run_id) as source:
        return control_states(run_of(store, run_id), source, flow, end_s=last_s(store, run_id, end_s), **asked)


def kept_sequence(store: Store, run_id: str, flow: str, *, end_s: float | None = None, **asked: Any) -> FlowSequence:
    """The sequence of a flow as the trace has it; NotFound."""
    with store.shared_columns(run_id) as source:
        return sequence(run_of(store, run_id), source, flow, end_s=last_s(store, run_id, end_s), **asked)


def captured(store: Store, run_id: str) -> str:
    """The stamp of a run's file of packets, which another capture replaces; empty without one."""
    packets = kept_packets(store.derived(run_id))
    if packets is None:
        return ""
    found = packets.stat()
    return f"{found.st_mtime_ns}-{found.st_size}"


def kept_packet_sequence(store: Store, run_id: str, flow: str, stamp: str, **asked: Any) -> PacketSequence:
    """The sequence of a flow as its captured packets have it; NotFound if none are of the flow."""
    packets = kept_packets(store.derived(run_id))
    assert packets is not None, run_id
    return packet_sequence(_segments(packets, stamp), run_of(store, run_id), flow, **asked)


def kept_band(store: Store, run_ids: Sequence[str], measure: str, **asked: Any) -> Band:
    """The band of some runs, which are repeats of a point; NotFound."""
    with ExitStack() as opened:
        repeats = [(run_of(store, one), opened.enter_context(store.shared_columns(one))) for one in run_ids]
        return band(repeats, measure, **asked)


@lru_cache(maxsize=2)
def _segments(packets: Path, stamp: str) -> Segments:
    """A diagram that is zoomed reads one capture often."""
    return read_segments(packets)
