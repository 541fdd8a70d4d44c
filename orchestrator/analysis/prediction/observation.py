"""What a run shows of a transfer: the bytes that have arrived at each instant, and when its streams recovered from losses.

All streams together are the transfer; a flow named `other` beside them is not part of it. A recovery that begins while its stream still
recovers is the same epoch.
"""

from __future__ import annotations

import numpy as np

from longhaul.orchestrator.analysis.series import Floats, app_bytes, counter, of_flow, ticks_s
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import STATE_RECOVERING, Trace

STREAM, OTHER = "app", "other"


@dataclass(frozen=True, slots=True)
class Observation:
    """One run: bytes at the ticks `t_s`, of all streams and of the other flow; the beginnings of loss epochs of each stream; the most
    packets in flight of one stream; the payload rate of the line; the processor time of the run."""

    t_s: Floats
    total: Floats
    other: Floats
    line: Floats
    epochs_s: tuple[Floats, ...]
    inflight_packets: int
    payload_byte_s: float
    rtt_s: float
    mss_bytes: int
    cpu_s: float
    run: str

    @property
    def length_s(self) -> float:
        return float(self.t_s[-1])

    def at(self, t_s: float) -> float:
        """Bytes of the transfer that have arrived."""
        return float(np.interp(t_s, self.t_s, self.total))

    def completion_s(self, size_bytes: int) -> float | None:
        """When the transfer has this size; None if it has not within the run."""
        if self.total[-1] < size_bytes:
            return None
        place = int(np.searchsorted(self.total, size_bytes))
        if place == 0:
            return float(self.t_s[0])
        low, high = self.total[place - 1], self.total[place]
        share = (size_bytes - low) / (high - low)
        return float(self.t_s[place - 1] + share * (self.t_s[place] - self.t_s[place - 1]))

    def other_byte_s(self, begin_s: float) -> float:
        """The rate of the other flow from then on."""
        first = float(np.interp(begin_s, self.t_s, self.other))
        return (float(self.other[-1]) - first) / (self.length_s - begin_s)

    def epochs_after(self, begin_s: float) -> int:
        """Loss epochs of all streams from then on."""
        return sum(int((one >= begin_s).sum()) for one in self.epochs_s)


def observe(run: Run, trace: Trace, key: str, cpu_s: float) -> Observation:
    """The observation of a kept run."""
    t_s = ticks_s(run)
    streams = [flow for flow in run.flows if flow.name != OTHER]
    others = [flow for flow in run.flows if flow.name == OTHER]
    link = run.links[0]
    meaning = run.meaning
    return Observation(
        t_s=t_s,
        total=np.sum([app_bytes(run, trace, flow).value for flow in streams], axis=0),
        other=np.sum([app_bytes(run, trace, flow).value for flow in others] or [np.zeros(len(t_s))], axis=0),
        line=counter(of_flow(trace.links, link.id), "tx_bytes", run).value * meaning.mss_bytes / meaning.frame_bytes,
        epochs_s=tuple(_epochs_s(trace, flow, meaning.rtt_us / 1e6) for flow in streams),
        inflight_packets=max((_most_in_flight(trace, flow) for flow in streams), default=0),
        payload_byte_s=link.rate_bps / 8 * meaning.mss_bytes / meaning.frame_bytes,
        rtt_s=meaning.rtt_us / 1e6,
        mss_bytes=meaning.mss_bytes,
        cpu_s=cpu_s,
        run=key,
    )


def _epochs_s(trace: Trace, flow: Flow, rtt_s: float) -> Floats:
    acks = of_flow(trace.acks, flow.id)
    recovering = acks["state"] >= STATE_RECOVERING
    begins = np.flatnonzero(recovering & ~np.concatenate(([False], recovering[:-1])))
    begins_s = acks["t_ns"][begins].astype(np.float64) / 1e9
    if not len(begins_s):
        return begins_s
    # Samples can miss that a recovery has gone over into the next one: within two round trips they are one.
    apart = np.concatenate(([True], np.diff(begins_s) > 2 * rtt_s))
    return np.asarray(begins_s[apart])


def _most_in_flight(trace: Trace, flow: Flow) -> int:
    acks = of_flow(trace.acks, flow.id)
    return int(acks["inflight"].max()) if len(acks) else 0
