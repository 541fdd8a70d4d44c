"""iperf3's JSON, as `iperf3 -J` prints it: a file for each flow of TCP or UDP, with an interval a second.

Bytes are those that the receiver's application got, also where iperf3 counts those that its sender wrote. Fields that a run has no value for,
such as the use of processors, are left out.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Iterator
from email.utils import format_datetime
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.formats.exported_run import ExportedRun
from longhaul.orchestrator.analysis.raw_series import Span, round_trips
from longhaul.orchestrator.analysis.series import Counter, counter
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.trace.records import EVER, ColumnSource

_INTERVAL_S = 1.0
_SOCKET = 5
# iperf3 can leave out the first intervals.
_KEPT = {"omitted": False}


def iperf3_files(exported: ExportedRun) -> Iterator[tuple[str, bytes]]:
    """A file for each flow; web users, requests and programs make transfers that follow one another, which iperf3 does not."""
    for flow in exported.run.flows:
        if flow.kind in ("tcp", "udp") and flow.requests is None:
            yield f"{flow.name}.json", (json.dumps(_iperf3_document(exported, flow), indent=1) + "\n").encode()


def _iperf3_document(exported: ExportedRun, flow: Flow) -> dict[str, Any]:
    run, document = exported.run, exported.document
    of_flow = _FlowAtSeconds(run, flow, exported.source, exported.length_s(flow))
    intervals = [
        {
            "streams": [of_flow.interval(begin_s, end_s) | _KEPT],
            "sum": of_flow.total(begin_s, end_s) | _KEPT,
        }
        for begin_s, end_s in of_flow.spans()
    ]
    whole = (0.0, of_flow.length_s)
    sent = of_flow.total(*whole)
    received = {name: value for name, value in sent.items() if name != "retransmits"}
    ends: dict[str, Any] = {"sum_sent": sent, "sum_received": received}
    if flow.kind == "udp":
        ends = {"sum": sent}
    else:
        ends["streams"] = [{"sender": of_flow.sender(), "receiver": {"socket": _SOCKET, **received}}]
        ends |= {"sender_tcp_congestion": flow.cc}
    sender = next(end.address for end in run.ends if end.node == flow.from_node and end.address)
    return {
        "start": {
            "connected": [
                {
                    "socket": _SOCKET,
                    "local_host": sender.partition("/")[0],
                    "remote_host": flow.address,
                    "remote_port": flow.port,
                }
            ],
            "version": "iperf 3 (exported by Longhaul)",
            "system_info": f"Linux {document['kernel']}",
            "timestamp": {
                "time": format_datetime(exported.kept_at, usegmt=True),
                "timesecs": int(exported.kept_at.timestamp()),
            },
            "connecting_to": {"host": flow.address, "port": flow.port},
            "cookie": document["run"],
            **({} if flow.kind == "udp" else {"tcp_mss_default": run.meaning.mss_bytes}),
            "target_bitrate": flow.rate_bps or flow.options.max_pacing_bps,
            "test_start": {
                "protocol": flow.kind.upper(),
                "num_streams": 1,
                "blksize": flow.payload_bytes or flow.block_bytes or 131072,
                "omit": 0,
                "duration": math.ceil(of_flow.length_s),
                "bytes": flow.bytes or 0,
                "blocks": 0,
                "reverse": 0,
                "tos": flow.options.dscp << 2 | flow.options.ect,
                "target_bitrate": flow.rate_bps or flow.options.max_pacing_bps,
            },
        },
        "intervals": intervals,
        "end": ends,
        "title": f"{run.title}: {flow.name}",
    }


class _FlowAtSeconds:
    """A flow from its own start; its counters at any second."""

    def __init__(self, run: Run, flow: Flow, source: ColumnSource, length_s: float) -> None:
        self._run, self._flow, self._source = run, flow, source
        self._start_s = flow.start_us / 1e6
        self._bytes = counter(source("flow", ["app_bytes"], flow.id, EVER), "app_bytes", run)
        self._packets = counter(source("flow", ["packets"], flow.id, EVER), "packets", run)
        self._acks = source("ack", ["cwnd", "snd_wnd", "srtt_us", "retrans"], flow.id, EVER)
        self.length_s = length_s

    def spans(self) -> Iterator[tuple[float, float]]:
        edges = [*np.arange(0.0, self.length_s, _INTERVAL_S).tolist(), self.length_s]
        yield from itertools.pairwise(edges)

    def interval(self, begin_s: float, end_s: float) -> dict[str, Any]:
        found = {"socket": _SOCKET, **self.total(begin_s, end_s)}
        if self._flow.kind == "udp" or (last := self._last_ack(end_s)) is None:
            return found
        mss = self._run.meaning.mss_bytes
        return found | {
            "snd_cwnd": int(self._acks["cwnd"][last]) * mss,
            "snd_wnd": int(self._acks["snd_wnd"][last]),
            "rtt": int(self._acks["srtt_us"][last]),
        }

    def total(self, begin_s: float, end_s: float) -> dict[str, Any]:
        payload = self._rise(self._bytes, begin_s, end_s)
        more: dict[str, Any] = {}
        if self._flow.kind == "udp":
            packets = self._rise(self._packets, begin_s, end_s)
            payload, more = packets * self._flow.payload_bytes, {"packets": packets}
        else:
            more = {"retransmits": self._retransmits(end_s) - self._retransmits(begin_s)}
        length_s = end_s - begin_s
        return {
            "start": begin_s,
            "end": end_s,
            "seconds": length_s,
            "bytes": payload,
            "bits_per_second": payload * 8 / length_s if length_s else 0.0,
            **more,
            "sender": True,
        }

    def sender(self) -> dict[str, Any]:
        found = {"socket": _SOCKET, **self.total(0.0, self.length_s)}
        if not len(self._acks["t_ns"]):
            return found
        measured = round_trips(self._run, self._source, self._flow, Span(0.0, self._run.duration_us / 1e6, 0))
        round_trips_us = measured.values if len(measured.values) else self._acks["srtt_us"]
        return found | {
            "max_snd_cwnd": int(self._acks["cwnd"].max()) * self._run.meaning.mss_bytes,
            "max_snd_wnd": int(self._acks["snd_wnd"].max()),
            "max_rtt": int(round_trips_us.max()),
            "min_rtt": int(round_trips_us.min()),
            "mean_rtt": round(float(round_trips_us.mean())),
        }

    def _rise(self, of: Counter, begin_s: float, end_s: float) -> int:
        return self._count(of, end_s) - self._count(of, begin_s)

    def _count(self, of: Counter, at_s: float) -> int:
        """All that came counts at the end, which may be between two ticks."""
        return round(float(of.value[-1] if at_s >= self.length_s else of.at(self._start_s + at_s)))

    def _last_ack(self, at_s: float) -> int | None:
        index = int(np.searchsorted(self._acks["t_ns"], (self._start_s + at_s) * 1e9, side="right")) - 1
        return None if index < 0 else index

    def _retransmits(self, at_s: float) -> int:
        last = self._last_ack(at_s)
        return 0 if last is None else int(self._acks["retrans"][last])
