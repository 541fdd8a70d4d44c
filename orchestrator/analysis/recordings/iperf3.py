"""iperf3's JSON (`iperf3 -J`) as a recording: each stream is a flow, counted at the end of each interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.recordings.recording import RecordedFlow, Recording, Samples
from longhaul.orchestrator.analysis.series import Counter

_SMOOTHED = "iperf3 has TCP's smoothed round trip at the end of each interval, so only its mean is compared"
_SENT = "iperf3 counts the bytes that its sender wrote, not those that the receiver got"


def is_iperf3(document: Any) -> bool:
    """Whether it is the output of iperf3."""
    return isinstance(document, Mapping) and {"start", "intervals", "end"} <= document.keys()


def read_iperf3(document: Mapping[str, Any], name: str) -> Recording:
    """The recording; ValueError if iperf3 failed, LookupError or TypeError if it is not as iperf3 writes it."""
    if "error" in document and not document["intervals"]:
        raise ValueError(f"iperf3 failed: {document['error']}")
    intervals = [interval for interval in document["intervals"] if not interval["streams"][0].get("omitted")]
    if not intervals:
        raise ValueError("it has no interval")
    start, end = document["start"], document["end"]
    test = start["test_start"]
    sockets = [stream["socket"] for stream in intervals[0]["streams"]]
    # The first intervals may be omitted: the test begins after them.
    zero_s = float(intervals[0]["streams"][0]["start"])
    flows = []
    for number, socket in enumerate(sockets, 1):
        rows = [row for interval in intervals for row in interval["streams"] if row["socket"] == socket]
        label = str(document.get("title") or name)
        flows.append(_flow(rows, start, end, test, zero_s, label if len(sockets) == 1 else f"{label}-{number}"))
    notes = [_SENT] if not test.get("reverse") and intervals[0]["streams"][0].get("sender", True) else []
    notes += [_SMOOTHED] if any(flow.rtt_ms is not None for flow in flows) else []
    return Recording(name, "iperf3", tuple(flows), tuple(notes))


def _flow(
    rows: Sequence[Mapping[str, Any]],
    start: Mapping[str, Any],
    end: Mapping[str, Any],
    test: Mapping[str, Any],
    zero_s: float,
    name: str,
) -> RecordedFlow:
    ends_s = np.array([0.0, *(float(row["end"]) - zero_s for row in rows)])
    if (np.diff(ends_s) <= 0).any():
        raise ValueError("its intervals are not in the order of time")
    is_tcp = str(test["protocol"]).upper() == "TCP"
    mss = float(start.get("tcp_mss_default") or 0)
    windows = [row["snd_cwnd"] / mss for row in rows if mss and "snd_cwnd" in row]
    round_trips = [row["rtt"] / 1000 for row in rows if row.get("rtt")]
    has_retransmits = all("retransmits" in row for row in rows)
    return RecordedFlow(
        name,
        "tcp" if is_tcp else "udp",
        Counter(ends_s, np.cumsum([0.0, *(float(row["bytes"]) for row in rows)])),
        Counter(ends_s, np.cumsum([0.0, *(float(row["retransmits"]) for row in rows)])) if has_retransmits else None,
        Samples(ends_s[1:], np.array(round_trips), smoothed=True) if len(round_trips) == len(rows) else None,
        Samples(ends_s[1:], np.array(windows)) if len(windows) == len(rows) else None,
        end.get("sender_tcp_congestion") or start.get("congestion"),
        completed_s=float(ends_s[-1]) if test.get("bytes") else None,
    )
