"""A run as people look at it: one panel a quantity, a series a flow. The terminal, the report and the figure draw these.

    run_panels(run, trace) -> congestion window (packets), goodput (Mbit/s), round trip (ms), queue (packets)

Series are thinned to at most `points` values each, evenly over time, and keep every spike; a panel without any value is left out. Values are
those of the trace: nothing here smooths, except that goodput is the mean of its bin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from orchestrator.analysis.series import Floats, app_bytes, bins_s, held, measuring, of_flow, ticks_s
from orchestrator.describe import change_text
from orchestrator.run import DeviceChange, Flow, Option, Run
from orchestrator.trace import Records, Trace
from orchestrator.units import format_duration, format_rate, format_share

# Goodput over less than this is a picture of single packets.
_LEAST_BIN_S = 0.1
_MOST_BINS = 200

# More queues in one picture than this tell nobody anything.
MOST_QUEUES = 6

# Values that a stretch of a thinned series keeps.
_KEPT = 4

# The options of a qdisc that a mark tells, in the words of an experiment.
_SAID: dict[str, Callable[[Option], str]] = {
    "rate_bps": lambda value: format_rate(_whole(value)),
    "delay_ns": lambda value: f"delay {format_duration(_whole(value) // 1000)}",
    "loss_2p32": lambda value: f"loss {format_share(round(_whole(value) / 2**32, 9))}",
    "gemodel_2p32": lambda value: "losses in bursts" if value else "no losses in bursts",
}


@dataclass(frozen=True, slots=True)
class Series:
    """One line: seconds from the start of the experiment, and values in the unit of its panel."""

    label: str
    x_s: Floats
    y: Floats


@dataclass(frozen=True, slots=True)
class Panel:
    """Series that share an axis."""

    title: str
    unit: str
    series: list[Series]


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment at which the path or a flow changes, and to what."""

    t_s: float
    text: str


def run_panels(run: Run, trace: Trace, points: int = 2000) -> list[Panel]:
    """The panels of one run, those with something to show."""
    acks = [(flow_label(flow), of_flow(trace.acks, flow.id)) for flow in run.flows]
    windows = [(label, records, "cwnd") for label, records in acks]
    rtts = [(label, *measuring(records)) for label, records in acks]
    panels = [
        Panel("Congestion window", "packets", _of_acks(windows, 1.0, points)),
        Panel("Goodput", "Mbit/s", [_goodput(run, trace, flow) for flow in run.flows]),
        Panel("Round trip", "ms", _of_acks(rtts, 1000.0, points)),
        Panel("Queue", "packets", list(_queues(run, trace, points))),
    ]
    return [panel for panel in panels if panel.series]


def run_marks(run: Run) -> list[Mark]:
    """The scheduled changes, one mark a moment."""
    options = {(end.node, end.dev, qdisc.handle): qdisc.options for end in run.ends for qdisc in end.qdiscs}
    bottleneck = {(link.node, link.dev) for link in run.links[:1]}
    texts: dict[int, list[str]] = {}
    for change in run.schedule:
        told = texts.setdefault(change.at_us, [])
        if not isinstance(change, DeviceChange):
            told.append(change_text(run, change))
            continue
        if change.mtu is not None and (text := f"MTU {change.mtu}") not in told:
            told.append(text)
        side = "" if (change.node, change.dev) in bottleneck else "reverse "
        for qdisc in change.qdiscs:
            place = change.node, change.dev, qdisc.handle
            new = [side + text for text in _changed(options.get(place, {}), qdisc.options)]
            told += [text for text in new if text not in told]
            options[place] = qdisc.options
    return [Mark(at_us / 1e6, ", ".join(told) or "path changes") for at_us, told in sorted(texts.items())]


def flow_label(flow: Flow) -> str:
    """What a legend calls a flow: its name, with its congestion control where the name does not say it."""
    return flow.name if flow.cc is None or flow.cc == flow.name or flow.kind == "udp" else f"{flow.name} ({flow.cc})"


def _of_acks(flows: Sequence[tuple[str, Records, str]], divisor: float, points: int) -> list[Series]:
    """A line a flow, of that field of its ACKs."""
    return [
        _thinned(label, acks["t_ns"] / 1e9, acks[field].astype(np.float64) / divisor, points)
        for label, acks, field in flows
        if len(acks)
    ]


def _goodput(run: Run, trace: Trace, flow: Flow) -> Series:
    end_s = run.duration_us / 1e6
    edges_s = bins_s(0.0, end_s, max(_LEAST_BIN_S, end_s / _MOST_BINS))
    if len(edges_s) < 2:
        edges_s = np.array([0.0, end_s])
    rates_bps = app_bytes(run, trace, flow).rates(edges_s) * 8
    return Series(flow_label(flow), (edges_s[:-1] + edges_s[1:]) / 2, rates_bps / 1e6)


def _queues(run: Run, trace: Trace, points: int) -> Iterator[Series]:
    """The first bottleneck's, and others in which anything waited."""
    t_s, drawn = ticks_s(run), 0
    for place, link in enumerate(run.links):
        packets = held(of_flow(trace.links, link.id), "queue_packets", t_s)
        if (place == 0 or packets.any()) and drawn < MOST_QUEUES:
            drawn += 1
            yield _thinned(link.name, t_s, packets, points)


def _thinned(label: str, x_s: Floats, y: Floats, points: int) -> Series:
    """First, last, least and greatest value of equal stretches of time: a line through them covers the same dots."""
    if len(x_s) <= points:
        return Series(label, x_s, y)
    stretches = max(1, points // _KEPT)
    length_s = float(x_s[-1] - x_s[0]) or 1.0
    stretch = np.minimum((x_s - x_s[0]) / length_s * stretches, stretches - 1).astype(np.int64)
    begins = np.flatnonzero(np.diff(stretch, prepend=-1))
    ends = np.append(begins[1:], len(x_s)) - 1
    by_value = np.lexsort((y, stretch))
    kept = np.unique(np.concatenate([begins, ends, by_value[begins], by_value[ends]]))
    return Series(label, x_s[kept], y[kept])


def _changed(before: Mapping[str, Option], after: Mapping[str, Option]) -> list[str]:
    return [say(value) for name, say in _SAID.items() if (value := after.get(name)) != before.get(name)]


def _whole(value: Option) -> int:
    return value if isinstance(value, int) else 0
