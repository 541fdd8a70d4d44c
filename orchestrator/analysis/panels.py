"""The panels of a run: one a quantity, with a series a flow. The terminal, the report and the figure draw them.

    run_panels(run, trace) -> congestion window (packets), goodput (Mbit/s), round trip (ms), queue (packets)

The series are those of timelines.py, of the whole run; a panel without any value is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.analysis.timelines import POINTS, timeline
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.preview.flow_text import control_label
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import Trace

# More goodputs than this are a band, not a line.
MOST_BINS = 200

# More queues than this in one panel are unreadable.
MOST_QUEUES = 6


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


def run_panels(run: Run, trace: Trace, points: int = POINTS) -> list[Panel]:
    """The panels of one run, without empty ones."""
    panels = [
        Panel("Congestion window", "packets", _of_flows(run, trace, "cwnd", points)),
        Panel("Goodput", "Mbit/s", _of_flows(run, trace, "goodput", MOST_BINS, 1e6)),
        Panel("Round trip", "ms", _of_flows(run, trace, "rtt", points)),
        Panel("Queue", "packets", list(_queues(run, trace, points))),
    ]
    return [panel for panel in panels if panel.series]


def overlaid(panels: Sequence[Panel], recorded: Sequence[Panel]) -> list[Panel]:
    """The panels of a run, each with the series that recordings have for it."""
    return [
        replace(
            panel,
            series=[*panel.series, *(line for one in recorded if one.title == panel.title for line in one.series)],
        )
        for panel in panels
    ]


def flow_label(flow: Flow) -> str:
    """A flow's label in a legend: its name, with its congestion control unless the name contains it."""
    if flow.cc is None or flow.kind == "udp":
        return flow.name
    label = control_label(flow.cc, flow.variant)
    if flow.cc == flow.name:
        return label
    return f"{flow.name}: {label}" if "(" in label else f"{flow.name} ({label})"


def _of_flows(run: Run, trace: Trace, measure: str, points: int, a_unit: float = 1.0) -> list[Series]:
    """One line for each flow with the measure."""
    lines = [
        (flow_label(flow), timeline(run, trace.columns, measure, flow=flow.name, points=points)) for flow in run.flows
    ]
    return [Series(label, line.t_s, line.values / a_unit) for label, line in lines if len(line.t_s)]


def _queues(run: Run, trace: Trace, points: int) -> Iterator[Series]:
    """The first bottleneck's queue, and others that were ever occupied."""
    drawn = 0
    for place, link in enumerate(run.links):
        line = timeline(run, trace.columns, "queue", link=link.name, points=points)
        if (place == 0 or line.values.any()) and drawn < MOST_QUEUES:
            drawn += 1
            yield Series(link.name, line.t_s, line.values)
