"""flent's data file as a recording: each transfer is a flow; round trips are those of its sockets, or of its ping."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.recordings.recording import RecordedFlow, Recording, Samples
from longhaul.orchestrator.analysis.series import Counter, Floats

_MBIT_BYTES = 1e6 / 8
# TCP upload::1, TCP download::BE, TCP upload::2::tcp_rtt; sums and means of flows are computed, not measured.
_FLOW = re.compile(r"(?P<name>(?:TCP|UDP) .*?(?:::(?!tcp_)[^:]+)?)(?:::(?P<of>tcp_\w+))?")
_COMPUTED = re.compile(r".*\b(?:sum|avg|totals?|fairness)\b(?:::.*)?")
_OF_SOCKETS = "flent has TCP's smoothed round trip of each socket, so only its mean is compared"
_OF_PING = "flent's round trips are those of its ping"
_PING = re.compile(r"Ping \(ms\).*")


def is_flent(document: Any) -> bool:
    """Whether it is a data file of flent."""
    return isinstance(document, Mapping) and {"metadata", "results", "x_values"} <= document.keys()


def read_flent(document: Mapping[str, Any], name: str) -> Recording:
    """The recording; ValueError if it has no transfer."""
    x_s = np.array(document["x_values"], dtype=np.float64)
    if len(x_s) < 2 or (np.diff(x_s) <= 0).any():
        raise ValueError("its times do not rise")
    results: Mapping[str, list[float | None]] = document["results"]
    about = document["metadata"].get("SERIES_META") or {}
    names = [
        one for one in results if not _COMPUTED.fullmatch(one) and (found := _FLOW.fullmatch(one)) and not found["of"]
    ]
    ping = next((_samples(x_s, values) for one, values in results.items() if _PING.fullmatch(one)), None)
    flows = []
    for series in names:
        values = results[series]
        own = results.get(f"{series}::tcp_rtt")
        windows = results.get(f"{series}::tcp_cwnd")
        if any(value is not None for value in values):
            flows.append(
                RecordedFlow(
                    str(about.get(series, {}).get("FLOW") or series),
                    series[:3].lower(),
                    _bytes(x_s, values),
                    rtt_ms=ping if own is None else replace(_samples(x_s, own), smoothed=True),
                    cwnd_packets=None if windows is None else _samples(x_s, windows),
                    cc=about.get(series, {}).get("CONG_CONTROL"),
                )
            )
    if not flows:
        raise ValueError("it has no transfer of TCP or UDP")
    of_sockets = any(flow.rtt_ms is not None and flow.rtt_ms.smoothed for flow in flows)
    notes = (_OF_SOCKETS,) if of_sockets else () if ping is None else (_OF_PING,)
    return Recording(name, "flent", tuple(flows), notes)


def _samples(x_s: Floats, values: list[float | None]) -> Samples:
    known = [place for place, value in enumerate(values) if value is not None]
    return Samples(x_s[known], np.array([values[place] for place in known], dtype=np.float64))


def _bytes(x_s: Floats, values: list[float | None]) -> Counter:
    """The bytes so far, from the rate up to each time; only where the flow has a rate."""
    known = [place for place, value in enumerate(values) if value is not None]
    first, last = known[0], known[-1]
    edges_s = np.append(x_s[first] - (x_s[1] - x_s[0]), x_s[first : last + 1])
    rates = np.array([values[place] or 0.0 for place in range(first, last + 1)])
    return Counter(np.maximum(edges_s, 0.0), np.append(0.0, np.cumsum(rates * np.diff(edges_s)) * _MBIT_BYTES))
