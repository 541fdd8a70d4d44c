"""How full queues are over time: for each stretch of time, the share of it that a queue had so many packets; of all queues, the mean.

    occupancy(run, trace.columns, link="bottleneck", columns=120, rows=40) -> Occupancy

The queue is known at the ticks of the trace, so no stretch is shorter than a tick.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.series import Floats, held, ticks_within_s
from longhaul.orchestrator.analysis.timelines import named_in
from longhaul.orchestrator.plan.run import Link, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVER, ColumnSource

COLUMNS, ROWS = 120, 40


@dataclass(frozen=True, slots=True)
class LinkOccupancy:
    """The mean of each stretch and its maximum within ticks, in packets; `limit_packets` is 0 if the queue is limited in bytes."""

    link: str
    limit_packets: int
    mean: Floats
    greatest: Floats


@dataclass(frozen=True, slots=True)
class Occupancy:
    """Edges of the stretches and of the classes of packets, and for each stretch the share of its ticks in each class.

    A class has the whole numbers from its edge up to the next edge, without that one.
    """

    link: str
    edges_s: Floats
    edges_packets: NDArray[np.int64]
    shares: Floats
    links: tuple[LinkOccupancy, ...]


def occupancy(
    run: Run,
    source: ColumnSource,
    *,
    link: str | None = None,
    begin_s: float = 0.0,
    end_s: float | None = None,
    columns: int = COLUMNS,
    rows: int = ROWS,
) -> Occupancy:
    """The distribution of one queue, by default the first, and the means of all of them; NotFound."""
    whole_s = run.duration_us / 1e6
    begin_s, end_s = max(0.0, min(begin_s, whole_s)), whole_s if end_s is None else max(0.0, min(end_s, whole_s))
    name = run.links[0].name if link is None else link
    queue = named_in({one.name: one for one in run.links}, name, "reading the occupancy of link")
    t_s = ticks_within_s(run, begin_s, end_s)
    columns = max(1, min(columns, int((end_s - begin_s) / (run.trace.tick_us / 1e6))))
    edges_s = np.linspace(begin_s, max(end_s, begin_s), columns + 1)
    # The last edge belongs to the last stretch.
    at = np.clip(np.searchsorted(edges_s, t_s, side="right") - 1, 0, columns - 1)
    waiting = held(source("link", ["queue_packets"], queue.id, EVER), "queue_packets", t_s)
    edges_packets = _classes(int(waiting.max()) if len(waiting) else 0, rows)
    ranks = np.searchsorted(edges_packets, waiting, side="right") - 1
    counts = np.zeros((columns, len(edges_packets) - 1))
    np.add.at(counts, (at, ranks), 1)
    ticks = counts.sum(axis=1, keepdims=True)
    return Occupancy(
        link=name,
        edges_s=edges_s,
        edges_packets=edges_packets,
        shares=counts / np.maximum(ticks, 1),
        links=tuple(_mean(run, source, one, t_s, at, columns) for one in run.links),
    )


def _classes(most: int, rows: int) -> NDArray[np.int64]:
    """Edges of at most so many classes of equal width, the first from 0."""
    width = -(-(most + 1) // rows)
    return np.arange(0, most + 1 + width, width, dtype=np.int64)


def _mean(
    run: Run, source: ColumnSource, link: Link, t_s: Floats, at: NDArray[np.int64], columns: int
) -> LinkOccupancy:
    records = source("link", ["queue_packets", "queue_max_packets"], link.id, EVER)
    waiting = held(records, "queue_packets", t_s)
    count = np.bincount(at, minlength=columns)
    mean = np.bincount(at, weights=waiting, minlength=columns) / np.maximum(count, 1)
    greatest = np.zeros(columns)
    np.maximum.at(greatest, at, np.maximum(waiting, held(records, "queue_max_packets", t_s)))
    return LinkOccupancy(link.name, link.queue_limit_packets, mean, greatest)
