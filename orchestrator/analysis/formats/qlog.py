"""qlog, for qvis and others: the state of TCP at each ACK, its changes of state and its losses, a file for each flow of TCP.

The events are those of qlog's recovery category that TCP and QUIC share; the trace has no single packets, which a capture has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from longhaul.orchestrator.analysis.formats.exported_run import ExportedRun
from longhaul.orchestrator.analysis.raw_series import NO_PACING, NO_SSTHRESH
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.trace.records import EVER, ColumnSource

_FORMAT = {"qlog_format": "JSON", "qlog_version": "0.3"}
_FIELDS = ("state", "cwnd", "ssthresh", "srtt_us", "rtt_us", "inflight", "pacing_Bps", "lost")
# tcp_ca_state of Linux, in the words of qlog.
_STATES = ("open", "disorder", "congestion_window_reduced", "recovery", "loss")


def qlog_files(exported: ExportedRun) -> Iterator[tuple[str, bytes]]:
    """A file for each flow whose sender the trace has."""
    run = exported.run
    for flow in run.flows:
        if flow.kind == "tcp":
            trace = {
                "title": f"{run.title}: {flow.name}",
                "description": f"run {exported.document['run']} of Longhaul, {flow.cc}; times are of virtual time",
                "vantage_point": {"name": flow.from_node, "type": "client"},
                "common_fields": {
                    "time_format": "relative",
                    "reference_time": 0,
                    "protocol_type": ["TCP"],
                    "group_id": flow.name,
                },
                "events": list(_events(run, flow, exported.source)),
            }
            content = json.dumps(_FORMAT | {"title": run.title, "traces": [trace]})
            yield f"{flow.name}.qlog", (content + "\n").encode()


def _events(run: Run, flow: Flow, source: ColumnSource) -> Iterator[dict[str, Any]]:
    """One event for each ACK that changes something, with the values that changed."""
    acks = source("ack", _FIELDS, flow.id, EVER)
    columns = [acks[name].tolist() for name in ("t_ns", *_FIELDS)]
    before: dict[str, Any] = {}
    state_before, lost_before = 0, 0
    for t_ns, state, cwnd, ssthresh, srtt_us, rtt_us, inflight, pacing, lost in zip(*columns, strict=True):
        at_ms = t_ns / 1e6
        if state != state_before:
            names = {"old": _STATES[state_before], "new": _STATES[state]}
            yield {"time": at_ms, "name": "recovery:congestion_state_updated", "data": names}
            state_before = state
        if lost > lost_before:
            yield {"time": at_ms, "name": "recovery:packet_lost", "data": {"packets": lost - lost_before}}
        lost_before = lost
        now = {
            "congestion_window": cwnd * run.meaning.mss_bytes,
            "bytes_in_flight": inflight * run.meaning.mss_bytes,
            "packets_in_flight": inflight,
            "smoothed_rtt": srtt_us / 1000,
            **({"latest_rtt": rtt_us / 1000} if rtt_us else {}),
            **({"ssthresh": ssthresh * run.meaning.mss_bytes} if ssthresh != NO_SSTHRESH else {}),
            **({"pacing_rate": pacing * 8} if pacing != NO_PACING else {}),
        }
        changed = {name: value for name, value in now.items() if before.get(name) != value}
        if changed:
            yield {"time": at_ms, "name": "recovery:metrics_updated", "data": changed}
        before = now
