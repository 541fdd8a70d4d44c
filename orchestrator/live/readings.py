"""The records from which each metric of a run is read, and the labels of its series; the names are those of orchestrator/live/metrics.py.

STATES   a field's state: the lowest and the highest value of each cell of time
COUNTS   a counter: the last value of each cell
RATES    the rise of counters in each cell, as bit/s
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.raw_series import NO_PACING, NO_SSTHRESH
from longhaul.orchestrator.analysis.series import frame_bytes
from longhaul.orchestrator.live.metrics import BY_NAME
from longhaul.orchestrator.live.moments import CHANGE
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Floats = NDArray[np.float64]

# The value of an ACK without a measured round trip.
_NO_RTT = 0


@dataclass(frozen=True, slots=True)
class Reading:
    """A metric as a field of one kind of record; a stored value is so many of the metric's unit times `scale` over `a_unit`."""

    metric: str
    record: str
    field: str
    scale: float = 1.0
    a_unit: float = 1.0
    none: int | None = None


STATES = (
    Reading("longhaul_flow_cwnd_packets", "ack", "cwnd"),
    Reading("longhaul_flow_ssthresh_packets", "ack", "ssthresh", none=NO_SSTHRESH),
    Reading("longhaul_flow_rtt_seconds", "ack", "rtt_us", a_unit=1e6, none=_NO_RTT),
    Reading("longhaul_flow_inflight_packets", "ack", "inflight"),
    Reading("longhaul_flow_pacing_bps", "ack", "pacing_Bps", scale=8, none=NO_PACING),
    Reading("longhaul_link_queue_packets", "link", "queue_packets"),
)
COUNTS = (
    Reading("longhaul_flow_retransmits_total", "ack", "retrans"),
    Reading("longhaul_link_drops_total", "link", "drops"),
)
GOODPUT, FLOW_THROUGHPUT = "longhaul_flow_goodput_bps", "longhaul_flow_throughput_bps"
LINK_THROUGHPUT, INFO = "longhaul_link_throughput_bps", "longhaul_run_info"


@dataclass(frozen=True, slots=True)
class Rate:
    """A metric as the rise of counters of one flow or link, from its start on."""

    metric: str
    record: str
    about: int
    fields: tuple[str, ...]
    start_us: int

    def bits(self, run: Run, rises: Sequence[Floats]) -> Floats:
        """The number of bits of these rises of the counters."""
        if self.fields == ("delivered", "acked_bytes"):
            packets, payload = rises
            return packets * frame_bytes(run, packets, payload) * 8
        if self.fields == ("packets",):
            return rises[0] * (8.0 * run.meaning.frame_bytes)
        return rises[0] * 8


def rates(run: Run) -> list[Rate]:
    """Every rate of a run: TCP reports the bytes that reached the receiver; for UDP the receiver counts them."""
    found = []
    for flow in run.flows:
        found.append(Rate(GOODPUT, "flow", flow.id, ("app_bytes",), flow.start_us))
        if flow.kind == "udp":
            found.append(Rate(FLOW_THROUGHPUT, "flow", flow.id, ("packets",), flow.start_us))
        else:
            found.append(Rate(FLOW_THROUGHPUT, "ack", flow.id, ("delivered", "acked_bytes"), flow.start_us))
    return found + [Rate(LINK_THROUGHPUT, "link", link.id, ("tx_bytes",), 0) for link in run.links]


def without_sack(run: Run, flow: Flow) -> bool:
    """Whether Linux keeps only the smoothed round trip: it measures single ones with SACK, which both ends must have."""
    of_node = {node.name: dict(node.sysctls) for node in run.nodes}
    return any(of_node[name].get("net/ipv4/tcp_sack") == "0" for name in (flow.from_node, flow.to_node))


def labels(run: Run, run_id: str, metric: str, about: int = 0) -> dict[str, str]:
    """The labels of a series, in the order of their names; those without a value are left out, as Prometheus requires."""
    values: dict[str, Any] = {"experiment": run.experiment, "run": run_id, "backend": run.backend}
    if BY_NAME[metric].about == "flow":
        flow = next(one for one in run.flows if one.id == about)
        values |= {"host": flow.from_node, "flow": flow.name, "cc": flow.cc or ""}
    elif BY_NAME[metric].about == "link":
        link = next(one for one in run.links if one.id == about)
        values |= {"host": link.node, "link": link.name}
    else:
        point = ", ".join(f"{path}={value}" for path, value in sorted(run.point.items()))
        values |= {"clock": run.clock, "kernel": run.kernel, "seed": str(run.seed), "point": point}
        values["change"] = run_marks(run)[about].text if metric == CHANGE else ""
    named = {name: str(values[name]) for name in BY_NAME[metric].labels if values[name] != ""}
    return {"__name__": metric, **dict(sorted(named.items()))}
